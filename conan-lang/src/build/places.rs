//! Which directive may stand in which block.

use crate::pieces::Directive;

/// Whether a directive may stand in a block (`None`: outside every block).
pub(super) fn may_stand(directive: Directive, parent: Option<Directive>) -> bool {
    match directive {
        Directive::Ticktime
        | Directive::Cut
        | Directive::Conditions
        | Directive::Top
        | Directive::Begin => parent.is_none(),
        Directive::Shared => matches!(parent, None | Some(Directive::Begin)),
        Directive::Test
        | Directive::Stays
        | Directive::WakeTimes
        | Directive::Explore
        | Directive::Always
        | Directive::Never
        | Directive::Sometimes
        | Directive::Tick => parent == Some(Directive::Begin),
        Directive::Suspended | Directive::Finished | Directive::Thread => {
            parent == Some(Directive::Tick)
        }
        Directive::ExcMonitor
        | Directive::ValueCheck
        | Directive::MatchCheck
        | Directive::WakeCheck => matches!(parent, Some(Directive::Thread | Directive::Tick)),
        Directive::End => true,
    }
}

/// Where a directive stands, for a message about one that does not.
pub(super) fn proper_place(directive: Directive) -> &'static str {
    match directive {
        Directive::Shared => "it stands before the sequences, or at the start of one",
        Directive::Begin => "a sequence stands outside every other block",
        Directive::Test
        | Directive::Stays
        | Directive::WakeTimes
        | Directive::Explore
        | Directive::Always
        | Directive::Never
        | Directive::Sometimes
        | Directive::Tick => "it stands directly in a `#begin` block",
        Directive::Suspended | Directive::Finished | Directive::Thread => {
            "it stands directly in a `#tick` block"
        }
        _ if directive.is_template() => "it stands in a `#thread` or a `#tick` block",
        _ => "it stands before the first sequence, outside every block",
    }
}

/// Blocks whose content is Rust.
pub(super) fn holds_rust(directive: Directive) -> bool {
    directive.is_template()
        || matches!(
            directive,
            Directive::Top | Directive::Shared | Directive::Thread
        )
}

/// What a script says before its sequences; `#shared` also at the start of one.
pub(super) fn is_declaration(directive: Directive) -> bool {
    matches!(
        directive,
        Directive::Ticktime
            | Directive::Cut
            | Directive::Conditions
            | Directive::Top
            | Directive::Shared
    )
}

/// True for blocks that are never inside one another, wherever they stand.
/// It keeps the stack of open blocks short, whatever a file contains.
pub(super) fn exclude_each_other(a: Directive, b: Directive) -> bool {
    a == b || (a.is_template() && b.is_template()) || (is_declaration(a) && is_declaration(b))
}
