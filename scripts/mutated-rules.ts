/** A rule that is broken, and the test that must notice. */
export interface Mutation {
  readonly breaks: string
  readonly file: string
  /** A text that occurs once in the file. */
  readonly text: string
  readonly replacement: string
  /** The test file that must fail. */
  readonly test: string
}

/** At least three for each service. */
export const mutations: readonly Mutation[] = [
  {
    breaks: 'a spent refresh token counts as stolen after the reuse interval',
    file: 'migrations/auth/functions/refresh_session.sql',
    text: 'moment <= t.updated_at + make_interval(secs => p_reuse_seconds)',
    replacement: 'true',
    test: 'services/auth/src/routes/token.test.ts',
  },
  {
    breaks: 'the second child of a token is of its parent',
    file: 'services/auth/src/sessions/session.ts',
    text: 'parent}#',
    replacement: '0}#',
    test: 'services/auth/src/sessions/session.test.ts',
  },
  {
    breaks: 'the algorithm of an access token is that of its key',
    file: 'services/auth/src/access-tokens/access-token.ts',
    text: 'key === undefined || key.alg !== alg',
    replacement: 'key === undefined',
    test: 'services/auth/src/access-tokens/access-token.test.ts',
  },
  {
    breaks: 'the code of a redirect needs the verifier of its challenge',
    file: 'services/auth/src/flows/pkce.ts',
    text: 'digest(expected), digest(codeChallenge)',
    replacement: 'digest(expected), digest(expected)',
    test: 'services/auth/src/use-cases/grant-auth-code.long.test.ts',
  },
  {
    breaks: 'a stolen session signs nobody out',
    file: 'migrations/auth/functions/sign_out.sql',
    text: 'ORDER BY t.counter DESC LIMIT 1) IS NOT TRUE)',
    replacement: 'ORDER BY t.counter DESC LIMIT 1) IS NOT NULL)',
    test: 'services/auth/src/routes/logout.test.ts',
  },
  {
    breaks: 'a stored flow ends where the redirect rules permit',
    file: 'services/auth/src/use-cases/finish-authorization.ts',
    text: 'permittedEnd(flow.redirectTo, deps.config)',
    replacement: 'flow.redirectTo',
    test: 'services/auth/src/use-cases/finish-authorization.test.ts',
  },
  {
    breaks: 'a capture takes at most what is pending',
    file: 'migrations/payments/functions/decide_operation.sql',
    text: '(p_operation.amount BETWEEN 1 AND result.possible)',
    replacement: '(p_operation.amount >= 1)',
    test: 'services/payments/src/routes/transactions/captures.test.ts',
  },
  {
    breaks: 'the fees of several captures are those of one large capture',
    file: 'migrations/payments/functions/decide_operation.sql',
    text: `(earlier_gross + gross) * (p_operation.pricing ->> 'rate')::numeric, 10000)
      - {{round_half_even}}(earlier_gross * (p_operation.pricing ->> 'rate')::numeric, 10000);`,
    replacement: "gross * (p_operation.pricing ->> 'rate')::numeric, 10000);",
    test: 'services/payments/src/routes/transactions/captures.test.ts',
  },
  {
    breaks: 'a refund is worth what is left after lost disputes',
    file: 'migrations/payments/functions/decide_operation.sql',
    text: `p_transaction.refunded + p_transaction.lost + p_operation.amount)
        - {{captured_value}}(c.amounts, c.grosses, p_transaction.refunded + p_transaction.lost) INTO gross`,
    replacement: `p_transaction.refunded + p_operation.amount)
        - {{captured_value}}(c.amounts, c.grosses, p_transaction.refunded) INTO gross`,
    test: 'services/payments/src/routes/transactions/refunds.test.ts',
  },
  {
    breaks: 'the balance bounds a payout',
    file: 'migrations/payments/functions/pay_out.sql',
    text: 'least(available, available - {{dispute_reserve}}',
    replacement: '(available - {{dispute_reserve}}',
    test: 'services/payments/src/payouts/payout-plan.model.test.ts',
  },
  {
    breaks: 'positive lines alone are withheld from a payout',
    file: 'migrations/payments/functions/not_yet_due.sql',
    text: ' AND l.balance > 0',
    replacement: '',
    test: 'services/payments/src/payouts/payout-plan.model.test.ts',
  },
  {
    breaks: 'a snapshot sums a day that is over',
    file: 'migrations/payments/functions/snapshot_accounts.sql',
    text: "AT TIME ZONE 'UTC')::date - 1;",
    replacement: "AT TIME ZONE 'UTC')::date;",
    test: 'services/payments/src/use-cases/snapshot-accounts.test.ts',
  },
  {
    breaks: 'live money is authorized with the reference of its acquirer',
    file: 'migrations/payments/0013-create-transactions.ts',
    text: "test OR NOT successful OR coalesce(acquirer, '') <> '' AND coalesce(acquirer_ref, '') <> ''",
    replacement: 'true',
    test: 'services/payments/test/service-login.long.test.ts',
  },
  {
    breaks: 'payouts hold back what disputes exceed the captures by',
    file: 'migrations/payments/functions/dispute_reserve.sql',
    text: 'RETURN beyond + unknown.reserved + (',
    replacement: 'RETURN unknown.reserved + (',
    test: 'services/payments/test/dispute-excess.long.test.ts',
  },
  {
    breaks: 'a lost dispute takes what it exceeds the captures by',
    file: 'migrations/payments/functions/dispute_movement.sql',
    text: 'moved.excess_gross := p_dispute.excess_gross;',
    replacement: 'moved.excess_gross := 0;',
    test: 'services/payments/test/dispute-excess.long.test.ts',
  },
  {
    breaks: 'a refund leaves what disputes may take',
    file: 'migrations/payments/functions/decide_operation.sql',
    text: 'THEN p_transaction.captured - p_transaction.refunded - p_transaction.disputed',
    replacement: 'THEN p_transaction.captured - p_transaction.refunded',
    test: 'services/payments/src/disputes/dispute-repository.long.test.ts',
  },
  {
    breaks: 'an authorization that expires keeps what was voided before',
    file: 'migrations/payments/functions/void_movement.sql',
    text: "'voided', t.voided + t.pending",
    replacement: "'voided', t.pending",
    test: 'services/payments/src/use-cases/expire-authorizations.test.ts',
  },
  {
    breaks: 'a hint counts in its own session of the checkout alone',
    file: 'services/payments/src/checkout/authentication.ts',
    text: 'hint.sessionId === sessionId',
    replacement: "hint.sessionId !== ''",
    test: 'services/payments/src/checkout/hint.test.ts',
  },
  {
    breaks: 'halves are rounded to the even neighbour',
    file: 'migrations/payments/functions/round_half_even.sql',
    text: 'WHEN 0 THEN mod(div(n, d), 2)',
    replacement: 'WHEN 0 THEN 1',
    test: 'services/payments/test/money.test.ts',
  },
  {
    breaks: 'a payee is paid under the whole of its name',
    file: 'services/payments/src/money/latin-text.ts',
    text: 'return isWritten ?',
    replacement: 'return name ?',
    test: 'services/payments/src/money/latin-text.test.ts',
  },
  {
    breaks: 'a file pays no account whose IBAN is none of its country',
    file: 'services/payments/src/payouts/bank-files.ts',
    text: 'if (!isPayableIban(iban)) return',
    replacement: "if (iban === '') return",
    test: 'services/payments/src/payouts/bank-files.long.test.ts',
  },
  {
    breaks: 'a payout compares the exceptions that hold back money',
    file: 'migrations/payments/functions/pay_out.sql',
    text: "PERFORM {{expect_recorded}}(merchant.id, 'acquirer_exceptions', held_back);",
    replacement: 'PERFORM 1;',
    test: 'services/payments/test/changed-exceptions.test.ts',
  },
  {
    breaks: 'the last user of a live merchant stays',
    file: 'migrations/payments/functions/revoke_user.sql',
    text: 'IF NOT ended.pending',
    replacement: 'IF false',
    test: 'services/payments/test/user-tokens.test.ts',
  },
  {
    breaks: 'a payee over the border of the EEA needs the address of the payer',
    file: 'services/payments/src/payouts/bank-files.ts',
    text: 'if (needsAddress(transfer, debtor) && ',
    replacement: "if (iban === '' && ",
    test: 'services/payments/src/payouts/bank-files.long.test.ts',
  },
  {
    breaks: 'a merchant whose events wait is paid nothing',
    file: 'services/payments/src/use-cases/apply-acquirer-events.ts',
    text: 'await recordWaiting(deps, {',
    replacement: 'await Promise.resolve({',
    test: 'services/payments/test/acquirer-events.long.test.ts',
  },
  {
    breaks: 'a dispute on paper has the reference of its event',
    file: 'migrations/payments/functions/open_dispute.sql',
    text: "ref := coalesce(held.acquirer || ':', '') || (p_dispute ->> 'acquirerRef');",
    replacement: "ref := p_dispute ->> 'acquirerRef';",
    test: 'services/payments/test/acquirer-events.long.test.ts',
  },
  {
    breaks: 'what is reserved cannot be shipped',
    file: 'migrations/inventory/functions/apply_movement.sql',
    text: 'AND l.on_hand - l.reserved + m.on_hand_delta - m.reserved_delta >= 0',
    replacement: 'AND l.on_hand + m.on_hand_delta >= 0',
    test: 'services/inventory/src/reservations/reservation-repository.test.ts',
  },
  {
    breaks: 'a commit takes at most what remains of its reservation',
    file: 'migrations/inventory/functions/commit_reservation.sql',
    text: 'ELSIF p_quantity > r.remaining THEN',
    replacement: 'ELSIF false THEN',
    test: 'services/inventory/src/controllers/reservations/commit.test.ts',
  },
  {
    breaks: 'a reservation that is over cannot be committed',
    file: 'migrations/inventory/functions/commit_reservation.sql',
    text: '(v.expires_at > clock_timestamp()) IS NOT FALSE',
    replacement: 'true',
    test: 'services/inventory/src/reservations/reservation-repository.test.ts',
  },
]
