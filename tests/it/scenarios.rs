//! Every scenario of `spec/`, played against the real binary: one name in four places.
//!
//! A new scenario is a heading `### Scenario: name` in `spec/<area>.md`, a fixture
//! `fixtures/transcripts/<area>/<name>.transcript`, a name in the list below, and a snapshot, which
//! `INSTA_UPDATE=always cargo test --test it scenarios::<area>::<name>` writes and you read.

/// Makes the test `area::name` for each name, and the list of all of them: `execute_command { runs_a_command, … }`.
macro_rules! scenarios {
    ($($area:ident { $($name:ident),* $(,)? })*) => {
        const TESTS: &[(&str, &str)] = &[$($((stringify!($area), stringify!($name)),)*)*];

        $(mod $area {
            $(#[test]
            fn $name() {
                crate::support::scenario::check(stringify!($area), stringify!($name));
            })*
        })*
    };
}

scenarios! {
    allow_list {
        allows_a_path_only_where_it_is_listed,
        allows_commands_of_the_project,
        allows_every_command_by_a_star,
        allows_nothing_by_default,
        compares_the_first_word_exactly,
        finds_only_executable_files,
        ignores_relative_entries_of_path,
        knows_the_program_by_the_word,
        refuses_a_command_that_is_not_listed,
    }
    approval {
        a_cancelled_call_takes_its_question_along,
        a_client_without_forms_is_refused,
        accept_for_the_session_is_remembered,
        accept_runs_the_call,
        accept_runs_the_call_modern,
        decline_and_cancel_refuse,
        decline_and_cancel_refuse_modern,
        the_operators_program_decides,
        the_operators_program_decides_modern,
    }
    background {
        a_call_in_the_background_is_given_lines_to_read,
        a_call_in_the_background_is_read_and_stopped,
        a_call_that_takes_long_goes_on_in_the_background,
        a_long_output_is_read_by_its_number,
        nothing_is_kept_where_the_operator_says_so,
        one_call_too_many_in_the_background_is_refused,
        the_operator_can_turn_the_background_off,
        what_is_asked_wrongly_of_an_output_is_said,
    }
    cwd {
        allows_a_cwd_within_a_root,
        allows_a_link_that_leads_inside,
        compares_directories_part_by_part,
        refuses_a_cwd_outside_the_roots,
        refuses_a_cwd_that_does_not_exist,
        refuses_a_link_that_leads_outside,
        refuses_every_cwd_where_a_root_is_missing,
        refuses_every_cwd_where_the_list_of_roots_holds_none,
        refuses_what_is_no_directory,
        restricts_nothing_where_the_roots_are_the_empty_string,
        restricts_nothing_without_roots,
        runs_in_a_relative_cwd,
        runs_in_an_absolute_cwd,
        runs_in_the_configured_default,
        serves_calls_without_cwd_where_a_root_is_missing,
        takes_roots_from_flags_too,
        takes_tildes_variables_and_uris_as_they_are,
    }
    ending {
        a_background_process_does_not_delay_the_answer,
        a_call_may_ask_for_its_own_timeout,
        a_cancelled_call_gets_no_answer,
        a_command_that_closes_its_output_early_keeps_its_exit_code,
        a_finished_call_can_not_be_cancelled,
        a_timeout_keeps_the_output_so_far,
        a_tree_that_ignores_sigterm_is_killed_after_the_grace,
        a_waiting_call_is_taken_out_of_the_queue,
        calls_that_do_not_finish_are_ended_with_the_input,
        calls_that_finish_in_time_are_answered_at_the_end_of_the_input,
        input_that_nobody_reads_is_no_error,
        the_seventeenth_call_waits_for_its_turn,
        what_is_finished_of_a_batch_is_answered_at_the_end_of_the_input,
    }
    execute_command {
        answers_broken_arguments_with_an_error_result,
        answers_in_yaml,
        describes_itself_as_non_interactive,
        expands_nothing,
        gives_empty_input,
        gives_the_input_of_the_call,
        notes_that_a_missing_program_may_be_interactive,
        passes_quoted_syntax_on,
        refuses_calls_that_are_no_calls,
        refuses_each_operator_with_a_lesson,
        refuses_lines_that_are_no_command,
        refuses_quotes_that_a_shell_reads,
        refuses_shell_syntax_outside_quotes,
        runs_an_allowed_command,
        runs_without_cwd_as_before,
        splits_words_as_a_shell_does,
        tolerates_unknown_keys_beside_the_arguments,
    }
    execute_process {
        answers_broken_arguments_with_an_error_result,
        passes_arguments_on_as_they_are,
        refuses_a_program_that_is_not_listed,
        refuses_empty_and_impossible_words,
        runs_in_a_directory_with_input,
        runs_without_arguments,
    }
    framing {
        a_batch_is_answered_by_one_array_in_2025_03_26,
        a_batch_is_refused_in_2024_11_05,
        a_batch_is_refused_in_2025_06_18,
        a_batch_is_refused_in_2025_11_25,
        a_batch_is_refused_without_a_handshake,
        a_batch_with_initialize_or_nothing_in_it,
        a_byte_order_mark_is_nothing,
        a_last_line_without_its_end_is_served,
        a_line_may_come_in_pieces,
        a_line_that_is_no_json_is_answered_and_survived,
        blank_lines_are_nothing,
        crlf_ends_a_line_too,
        ids_come_back_as_they_were_sent,
        ids_come_back_as_they_were_sent_modern,
        json_that_is_no_message_is_answered_and_survived,
        notifications_and_responses_are_never_answered,
        null_counts_as_absent,
        what_no_value_can_hold_keeps_its_id,
        what_no_value_can_hold_keeps_its_id_modern,
    }
    lifecycle {
        an_unknown_cursor_is_refused,
        an_unsupported_modern_version_names_the_supported_ones,
        both_eras_are_served_side_by_side,
        discover_does_not_pin_the_era,
        handshake_with_2024_11_05,
        handshake_with_2025_03_26,
        handshake_with_2025_06_18,
        handshake_with_2025_11_25,
        handshake_with_a_modern_version,
        handshake_with_an_empty_version,
        handshake_with_an_unknown_version,
        handshake_without_a_version,
        initialize_with_modern_metadata_does_not_exist,
        modern_metadata_must_be_whole,
        modern_requests_need_no_handshake,
        ping_and_logging_do_not_exist_in_the_modern_era,
        ping_is_answered_while_a_command_runs,
        requests_before_the_handshake_are_told_both_ways_in,
        unknown_methods_are_not_found,
    }
    prompts {
        a_missing_argument_is_refused,
        a_refusal_is_explained_without_running_anything,
        an_unknown_prompt_is_refused,
        the_intro_is_listed_and_told,
        the_intro_tells_of_a_star,
        the_intro_tells_of_lines,
    }
    results {
        a_character_is_not_cut_in_two,
        a_non_zero_exit_is_a_completed_call,
        a_non_zero_exit_is_an_error_where_the_operator_says_so,
        a_pattern_that_nobody_expands_gets_a_hint,
        a_signal_is_an_error_with_its_name,
        both_streams_are_kept_apart,
        bytes_that_are_no_utf8_are_replaced,
        long_output_keeps_its_head_and_its_tail,
        output_at_the_bound_is_whole,
        structured_content_is_left_out_in_2025_03_26,
        structured_content_says_the_same,
        text_of_several_lines_is_a_literal_block,
        text_on_one_line_is_a_scalar,
        what_only_a_terminal_needs_is_left_out,
    }
    settings {
        a_command_sees_a_built_environment,
        a_flag_beats_a_variable_beats_the_file,
        a_wrong_value_stops_the_start,
        a_wrong_variable_stops_the_start,
        an_unknown_flag_stops_the_start,
        an_unknown_key_stops_the_start,
        blanks_and_empty_entries_of_a_list_do_not_count,
        the_file_configures_the_server,
        the_operator_adds_to_the_environment,
        the_whole_environment_is_inherited_where_the_operator_says_so,
    }
    progress {
        a_call_of_the_persistent_shell_is_heard_of,
        a_call_of_the_persistent_shell_is_heard_of_in_2025_11_25,
        a_call_with_a_token_is_heard_of_in_2024_11_05,
        a_call_with_a_token_is_heard_of_in_2025_11_25,
        a_call_with_a_token_is_heard_of_in_2026_07_28,
        a_token_may_be_a_string,
        no_progress_for_a_short_call_or_without_a_token,
    }
    lines {
        a_failure_that_the_status_hides_is_told,
        a_line_is_refused_as_a_whole,
        a_line_runs_as_a_shell_would_run_it,
        a_person_approves_the_whole_line,
        input_goes_to_the_first_program,
        lines_that_only_read_can_be_inspected,
        redirections_stay_in_the_directories,
        what_depends_on_files_is_decided_at_its_turn,
        what_is_no_line_is_refused,
    }
    logging {
        a_call_is_told_of_from_the_level_on,
        a_call_is_told_of_from_the_level_on_modern,
        an_unknown_level_is_refused,
        an_unknown_level_is_refused_modern,
        nothing_is_told_before_a_level_is_set,
    }
    completion {
        an_unknown_reference_is_refused,
        names_of_allowed_commands_complete_a_command,
        there_is_none_in_2024_11_05,
    }
    subscriptions {
        a_filter_of_the_wrong_shape_is_refused,
        a_subscription_is_acknowledged_and_kept_open,
        there_are_none_in_the_legacy_era,
    }
    tasks {
        a_client_declares_that_it_takes_tasks_modern,
        what_is_asked_wrongly_of_tasks_is_an_error,
    }
    roots { a_call_runs_in_the_first_root, a_modern_call_brings_the_roots }
    shell {
        a_change_of_directory_stays_in_the_roots,
        a_command_that_takes_long_goes_on_and_the_shell_is_busy,
        a_command_that_takes_too_long_is_ended,
        a_shell_that_ends_is_started_anew,
        each_allowed_command_is_a_tool,
        operators_are_refused_outside_quotes,
        restart_makes_a_fresh_shell,
        standard_error_stands_behind_the_output,
        the_intro_prompt_tells_of_the_shell,
        the_shell_keeps_its_state,
        with_rules_calls_change_only_the_variables_that_are_named,
    }
}

#[test]
fn every_scenario_stands_in_all_four_places() {
    let problems = crate::support::four_places::problems(crate::support::scenario::root(), TESTS);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_text_that_many_sessions_hold_stands_in_one_file() {
    let problems = crate::support::shown::problems(crate::support::scenario::root());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
