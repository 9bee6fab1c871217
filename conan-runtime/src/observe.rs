//! Looks at values whose types only the compiler knows: is it an `Err`, can
//! it be shown? Method resolution takes the inherent methods of [`Observe`]
//! where their bounds hold, then [`ObserveResult`], and then goes on to what
//! [`Observe`] dereferences to, which can say something of any value.
//! This works because drivers are not generic over their components.

use std::any::type_name;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Deref;

/// Looks at a value.
pub fn observe<T: ?Sized>(value: &T) -> Observe<'_, T> {
    Observe {
        value,
        anything: Anything(PhantomData),
    }
}

/// A value to look at.
#[derive(Debug)]
pub struct Observe<'v, T: ?Sized> {
    value: &'v T,
    anything: Anything<T>,
}

/// A value of which only the type is known.
#[derive(Debug)]
pub struct Anything<T: ?Sized>(PhantomData<*const T>);

impl<T, E: Debug> Observe<'_, Result<T, E>> {
    /// The exception that the value is, if it is one.
    pub fn exception(&self) -> Option<String> {
        let error = self.value.as_ref().err();
        error.map(|error| format!("Err({error:?})"))
    }
}

impl<T: ?Sized + Debug> Observe<'_, T> {
    /// The value as text.
    pub fn show(&self) -> String {
        format!("{:?}", self.value)
    }
}

/// An `Err` that cannot be shown is an exception all the same.
pub trait ObserveResult {
    /// The exception that the value is, if it is one.
    fn exception(&self) -> Option<String>;
}

impl<T, E> ObserveResult for Observe<'_, Result<T, E>> {
    fn exception(&self) -> Option<String> {
        let shown = || format!("Err(a value of type {})", type_name::<E>());
        self.value.is_err().then(shown)
    }
}

impl<T: ?Sized> Deref for Observe<'_, T> {
    type Target = Anything<T>;

    fn deref(&self) -> &Anything<T> {
        &self.anything
    }
}

impl<T: ?Sized> Anything<T> {
    /// Only a `Result` can be an exception.
    pub fn exception(&self) -> Option<String> {
        None
    }

    /// The type in place of a value that cannot be shown.
    pub fn show(&self) -> String {
        format!("a value of type {}", type_name::<T>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Mute;

    #[test]
    fn only_an_err_is_an_exception() {
        let fine: Result<u8, String> = Ok(1);
        let failed: Result<u8, String> = Err("no".to_owned());
        let mute: Result<u8, Mute> = Err(Mute);
        assert_eq!(observe(&fine).exception(), None);
        let shown = observe(&failed).exception();
        assert_eq!(shown, Some("Err(\"no\")".to_owned()));
        assert!(observe(&mute).exception().is_some());
        assert_eq!(observe(&()).exception(), None);
        assert_eq!(observe(&Some(1)).exception(), None);
        assert_eq!(observe(&Mute).exception(), None);
    }

    #[test]
    fn what_cannot_be_shown_is_named_by_its_type() {
        assert_eq!(observe(&"a").show(), "\"a\"");
        assert!(observe(&Mute).show().ends_with("Mute"));
    }
}
