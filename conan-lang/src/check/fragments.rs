//! The syntax of every Rust fragment, at its exact place.

use syn::parse::{Parse, ParseStream, Parser};

use super::{Context, control_flow};
use crate::tree::{Code, Exception, Fragment, Template, TemplateKind, TickItem, Wake};

pub(super) fn check(context: &mut Context<'_>) {
    let script = context.script;
    for top in &script.tops {
        if context.is_sound(top.items.span) {
            let _ = parse(
                context,
                top.items,
                items,
                "items, such as `use`, `fn` and `struct`",
            );
        }
    }
    for sequence in &script.sequences {
        for (_, item) in sequence.items() {
            match item {
                TickItem::Thread(block) => code(context, &block.code),
                TickItem::Template(template) => check_template(context, template),
                TickItem::Suspended(..) | TickItem::Finished(..) => {}
            }
        }
    }
}

fn code(context: &mut Context<'_>, code: &Code) {
    let rust = context.rust(code.span);
    let parsed = rust
        .tokens(&context.holes(code))
        .and_then(|tokens| rust.parse_tokens(tokens, statements, "statements"));
    if let Err(diagnostic) = parsed
        && context.mask.is_readable(code.span)
    {
        context.report(diagnostic);
    }
    for template in &code.templates {
        check_template(context, template);
    }
}

fn check_template(context: &mut Context<'_>, template: &Template) {
    if !context.is_sound(template.span) {
        return;
    }
    let word = template.kind.directive().word();
    match &template.kind {
        TemplateKind::ExcMonitor { code, expected } => {
            if let Some(statements) = parse(context, *code, statements, "statements") {
                control_flow::check(context, word, *code, &statements);
            }
            match expected {
                Some(Exception::Panic { part: Some(part) }) => {
                    let _ = parse(context, *part, expression, "part of the panic's message");
                }
                Some(Exception::Pattern(pattern)) => {
                    let what = "a pattern; `panic` and `panic \"part\"` can stand here too";
                    let _ = parse(context, *pattern, guarded_pattern, what);
                }
                Some(Exception::Panic { part: None }) | None => {}
            }
        }
        TemplateKind::ValueCheck { actual, expected } => {
            check_expression(context, word, *actual);
            check_expression(context, word, *expected);
        }
        TemplateKind::MatchCheck { actual, pattern } => {
            check_expression(context, word, *actual);
            let _ = parse(context, *pattern, guarded_pattern, "a pattern");
        }
        TemplateKind::WakeCheck(Wake::At(time) | Wake::Within(time)) => {
            let what = "a time; `3..5`, `3..=4`, `{2, 4}` and `take w` can stand here too";
            let _ = parse(context, *time, expression, what);
        }
        TemplateKind::WakeCheck(Wake::OneOf(times)) => {
            for time in times {
                let _ = parse(context, *time, expression, "a time");
            }
        }
        TemplateKind::WakeCheck(Wake::Take(_)) => {}
    }
}

fn check_expression(context: &mut Context<'_>, word: &str, fragment: Fragment) {
    if let Some(parsed) = parse(context, fragment, expression, "an expression") {
        let statement = syn::Stmt::Expr(parsed, None);
        control_flow::check(context, word, fragment, &[statement]);
    }
}

fn parse<P: Parser>(
    context: &mut Context<'_>,
    fragment: Fragment,
    parser: P,
    what: &str,
) -> Option<P::Output> {
    match context.rust(fragment.span).parse(parser, what) {
        Ok(parsed) => Some(parsed),
        Err(diagnostic) => {
            context.report(diagnostic);
            None
        }
    }
}

fn statements(input: ParseStream<'_>) -> syn::Result<Vec<syn::Stmt>> {
    syn::Block::parse_within(input)
}

fn items(input: ParseStream<'_>) -> syn::Result<Vec<syn::Item>> {
    input.call(syn::Attribute::parse_inner)?;
    let mut items = Vec::new();
    while !input.is_empty() {
        items.push(syn::Item::parse(input)?);
    }
    Ok(items)
}

fn expression(input: ParseStream<'_>) -> syn::Result<syn::Expr> {
    syn::Expr::parse(input)
}

fn guarded_pattern(input: ParseStream<'_>) -> syn::Result<syn::Pat> {
    let pattern = syn::Pat::parse_multi_with_leading_vert(input)?;
    if input.peek(syn::Token![if]) {
        input.parse::<syn::Token![if]>()?;
        input.parse::<syn::Expr>()?;
    }
    Ok(pattern)
}
