//! What a template's code comes to. Macros, because a value's type is known
//! only where the driver has it, and because temporaries of an expression must
//! live as long as the comparison.

/// Looks at a value: the exception, if it is one.
#[macro_export]
macro_rules! exception {
    ($value:expr) => {{
        #[allow(unused_imports)]
        use $crate::ObserveResult as _;
        #[allow(unreachable_code, clippy::diverging_sub_expression)]
        let exception = $crate::observe(&$value).exception();
        exception
    }};
}

/// Runs the last expression of an `#excMonitor`: the exception, if it is one.
#[macro_export]
macro_rules! outcome {
    ($value:expr) => {
        ::core::result::Result::Ok($crate::exception!($value))
    };
}

/// Compares two values: both as text, if they differ.
#[macro_export]
macro_rules! compare {
    ($actual:expr, $expected:expr) => {
        match (&$actual, &$expected) {
            (actual, expected) => ::core::result::Result::Ok(if *actual == *expected {
                ::core::option::Option::None
            } else {
                ::core::option::Option::Some((
                    $crate::observe(actual).show(),
                    $crate::observe(expected).show(),
                ))
            }),
        }
    };
}

/// Matches a value with a pattern: the value as text, if it does not match.
#[macro_export]
macro_rules! mismatch {
    ($value:expr, $pattern:pat $(if $guard:expr)?) => {{
        let mismatch = match $value {
            $pattern $(if $guard)? => ::core::option::Option::None,
            #[allow(unreachable_patterns)]
            ref other => ::core::option::Option::Some($crate::observe(other).show()),
        };
        ::core::result::Result::Ok(mismatch)
    }};
}
