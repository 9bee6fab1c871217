//! Those who wait are not told, or too few of them are.

use syn::visit::{self, Visit};
use syn::{ExprMethodCall, File};

use super::Edit;
use crate::text::Text;

/// `notify_all` becomes `notify_one`.
pub(super) fn one_for_all(file: &File, text: Text<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for_each_notification(file, &mut |call| {
        if call.method == "notify_all" {
            edits.push(Edit::new(text.range(&call.method), "notify_one"));
        }
    });
    edits
}

/// A notification is left out.
pub(super) fn removed(file: &File, text: Text<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for_each_notification(file, &mut |call| {
        edits.push(Edit::new(text.range(call), "()"));
    });
    edits
}

fn for_each_notification(file: &File, found: &mut dyn FnMut(&ExprMethodCall)) {
    struct Walk<'f>(&'f mut dyn FnMut(&ExprMethodCall));
    impl<'t> Visit<'t> for Walk<'_> {
        fn visit_expr_method_call(&mut self, call: &'t ExprMethodCall) {
            let names = ["notify_one", "notify_all", "unpark"];
            if call.args.is_empty() && names.iter().any(|name| call.method == name) {
                (self.0)(call);
            }
            visit::visit_expr_method_call(self, call);
        }
    }
    Walk(found).visit_file(file);
}
