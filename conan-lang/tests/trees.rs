//! What each construct becomes in the tree, place by place.

mod common;

/// Snapshots the tree of a script that has nothing wrong with it.
#[track_caller]
fn check(name: &str, text: &str) {
    let parsed = common::parse_clean(text);
    let snapshot = common::beside(text, &common::tree(&parsed));
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, snapshot);
    });
}

/// The same for the inside of a thread.
#[track_caller]
fn check_thread(name: &str, code: &str) {
    check(
        name,
        &format!("#begin\n#tick\n#thread\n{code}\n#end\n#end\n#end\n"),
    );
}

#[test]
fn the_whole_script_of_the_reference() {
    check("whole_script", common::PRODUCER_CONSUMER);
}

#[test]
fn ticktime_is_a_number_of_milliseconds() {
    check("ticktime", "#ticktime 1_500\n#begin #tick #end #end\n");
}

#[test]
fn components_are_names_or_patterns_with_constructors() {
    check(
        "cuts",
        "#cut m ProducerConsumer::new()\n\
         #cut bare Buffer\n\
         #cut path Buffer::new\n\
         #cut generic Buffer<u8>\n\
         #cut (tx, rx) bounded::<u32>(1)\n\
         #cut Pair { left, right: r } Pair {\n    left: 1,\n    right: 2,\n}\n\
         #cut mut counter 0\n\
         #cut r#type Type::new() // a comment\n\
         #begin #tick #end #end\n",
    );
}

#[test]
fn conditions_are_lines_of_free_text() {
    check(
        "conditions",
        "#conditions // the paper's\n    \
             C5 send: it's \"0\" iterations of the loop // not many\n    \
             C6\n\n    \
             /* and */ C-8.1 no `#tick` here: #end is a word /* or not */\n\
         #end\n\
         #begin #test C5, C6 C-8.1 #tick #end #end\n",
    );
}

#[test]
fn conditions_may_stand_on_the_line_of_their_end() {
    check(
        "conditions_on_one_line",
        "#conditions C1 one line #end\n#begin #test C1 #tick #end #end\n",
    );
}

#[test]
fn top_holds_items() {
    check(
        "top",
        "#top // plain\n    /// Documented.\n    use std::sync::Mutex;\n    fn one() -> u32 { 1 }\n#end\n\
         #top #end\n\
         #top #![allow(dead_code)] #end\n\
         #begin #tick #end #end\n",
    );
}

#[test]
fn shared_blocks_have_fields_and_methods() {
    check(
        "shared",
        "#shared s\n    \
             /// Every number.\n    \
             #[allow(unused)] pub log: Mutex<Vec<u32>> = Mutex::new(Vec::new());\n    \
             plain: [u8; 2] = [1, 2];\n    \
             fn note(&self, n: u32) { self.log.lock().unwrap().push(n); }\n    \
             /// Runs { last }.\n    \
             pub fn teardown(&self) { assert!(true); }\n\
         #end\n\
         #begin\n    \
             #shared s\n        \
                 fn note(&self, n: u32) {}\n        \
                 fn setup(&mut self) {}\n    \
             #end\n    \
             #tick #end\n\
         #end\n",
    );
}

#[test]
fn sequences_have_names_or_none() {
    check(
        "sequence_names",
        "#begin first_one\n    #tick #end\n#end\n#begin // second\n    #tick #end\n#end\n",
    );
}

#[test]
fn a_sequence_lists_conditions_wake_times_and_threads_that_stay() {
    check(
        "sequence_lines",
        "#begin\n    #test C1 C2\n    #test C3\n    #wakeTimes w 3 4 4\n    \
             #stays <a> b.1\n    \
             #tick\n        \
                 #thread <a> #wakeCheck take w #end #end\n        \
                 #thread <b> x 2 #end\n    \
             #end\n\
         #end\n",
    );
}

#[test]
fn ticks_may_be_empty_and_look_at_threads_and_components() {
    check(
        "ticks",
        "#begin\n    #tick\n    #end\n    #tick\n        \
             #thread <producer> x 3 #end\n        \
             #thread <c> #end\n        \
             #suspended producer.0 producer.2, c\n        \
             #finished <producer.1>\n        \
             #valueCheck m.len() # 3 #end\n        \
             #excMonitor m.check(); #end\n    \
         #end\n#end\n",
    );
}

#[test]
fn thread_heads_say_who_how_many_and_what_is_owned() {
    check(
        "thread_heads",
        "#cut (tx, rx) channel()\n#cut n Number::new()\n\
         #begin\n    #tick\n        \
             #thread\n        #end\n        \
             #thread <plain>\n        #end\n        \
             #thread < spaced >\n        #end\n        \
             #thread <many> x 10\n        #end\n        \
             #thread <p> takes tx // moved\n        #end\n        \
             #thread <q> takes rx clones n, tx\n        #end\n        \
             #thread <r> x 2 clones tx n\n        #end\n        \
             #thread <s> clones n x 2\n        #end\n        \
             #thread clones n drop(n); #end\n        \
             #thread <t> clones n let y = n; #end\n        \
             #thread <T>::call(); #end\n    \
         #end\n#end\n",
    );
}

#[test]
fn exceptions_are_panics_or_patterns() {
    check_thread(
        "exc_monitor",
        "#excMonitor m.send(1); #end\n\
         #excMonitor let g = m.acquire(); #end\n\
         #excMonitor m.fail() # panic #end\n\
         #excMonitor m.fail() # panic \"part of it\" #end\n\
         #excMonitor m.try_send(1) # Err(TrySendError::Full(_)) #end\n\
         #excMonitor m.try_send(1) # panicky #end\n\
         #excMonitor { a(); b() } # Err(n) if n > 3 #end",
    );
}

#[test]
fn value_checks_have_two_halves() {
    check_thread(
        "value_check",
        "#valueCheck m.receive() # 'a' #end\n\
         #valueCheck\n    m.all()\n    # vec![1, 2]\n#end\n\
         #valueCheck stringify!(a # b) # \"a # b\" #end",
    );
}

#[test]
fn match_checks_have_a_pattern() {
    check_thread(
        "match_check",
        "#matchCheck m.pop() # Some(1 | 2) #end\n\
         #matchCheck m.pop() # | Some(n) | Both(n, _) if n > 3 #end",
    );
}

#[test]
fn wake_checks_have_times_ranges_lists_or_take_from_a_list() {
    check(
        "wake_check",
        "#begin\n#wakeTimes w 3\n#tick #thread\n\
         #wakeCheck 3 #end\n\
         #wakeCheck time_of(1..2) #end\n\
         #wakeCheck 3..5 #end\n\
         #wakeCheck 3..=4 #end\n\
         #wakeCheck {2, f(3, 4),} #end\n\
         #wakeCheck take w #end\n\
         #end #end #end\n",
    );
}

#[test]
fn templates_stand_anywhere_in_a_threads_code() {
    check_thread(
        "nested_templates",
        "for i in 0..10 {\n    if i > 3 { #valueCheck i # 3 #end }\n    \
             match i { 1 => { #excMonitor m.send(i); #end } _ => {} }\n}",
    );
}
