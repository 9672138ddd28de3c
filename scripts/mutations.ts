// Breaks rules of money, tokens and stock, one at a time, and runs the test that must notice: `node scripts/mutations.ts`.
// Each test runs unbroken first and must pass. With the rule broken, a test of the file must fail: a file that cannot be imported
// or set up, as without a database, says nothing about the rule. Exit status 1 when a rule is not caught. Each file is restored.
// Start with a clean checkout; Ctrl-C restores the file too, kill -9 does not.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

interface Mutation {
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
    file: 'services/auth/src/sessions/refresh-token.ts',
    text: 'parent}#',
    replacement: '0}#',
    test: 'services/auth/src/sessions/refresh-token.test.ts',
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
    text: 'test OR NOT successful OR acquirer_ref IS NOT NULL',
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
    file: 'services/payments/src/checkout/hint.ts',
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
    text: 'ELSIF r.expires_at <= clock_timestamp() THEN',
    replacement: 'ELSIF false THEN',
    test: 'services/inventory/src/use-cases/commit-reservation.test.ts',
  },
]

/** The part of vitest's JSON that is read. */
const REPORT = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      /** The error of the file itself, such as a failed import or set-up. Empty for none. */
      message: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
})

/** A run of one test file, as far as its verdict needs it. */
export type TestReport = z.infer<typeof REPORT>

/** The verdict of the test on its rule. `unusable`: it fails without the mutation too, or its set-up fails. */
export type Verdict = 'caught' | 'MISSED' | 'unusable'

/**
 * @param unbroken the run without the mutation
 * @param broken the run with it; undefined where it was not started or wrote nothing
 */
export function judge(unbroken: TestReport | undefined, broken: TestReport | undefined): Verdict {
  if (!passes(unbroken) || broken === undefined) return 'unusable'
  if (passes(broken)) return 'MISSED'
  const isSetUp = broken.testResults.every(({ message }) => message === '')
  const statuses = broken.testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status))
  return isSetUp && statuses.includes('failed') ? 'caught' : 'unusable'
}

/** Whether tests ran, and every one of them passed. */
function passes(report: TestReport | undefined): boolean {
  if (!report?.success) return false
  return report.testResults.some(({ assertionResults }) => assertionResults.some(({ status }) => status === 'passed'))
}

/** @returns undefined where vitest ended before it wrote its report, as it does without a database */
function runTest(root: string, folder: string, test: string): TestReport | undefined {
  const file = join(folder, 'report.json')
  rmSync(file, { force: true })
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', test, '--reporter=json', `--outputFile=${file}`]
  spawnSync(process.execPath, args, { cwd: root, stdio: 'ignore' })
  return existsSync(file) ? REPORT.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
}

function tryMutation(root: string, folder: string, { file, text, replacement, test }: Mutation): Verdict {
  const unbroken = runTest(root, folder, test)
  if (!passes(unbroken)) return 'unusable'
  const path = join(root, file)
  const original = readFileSync(path, 'utf8')
  try {
    writeFileSync(path, original.replace(text, replacement))
    return judge(unbroken, runTest(root, folder, test))
  } finally {
    writeFileSync(path, original)
  }
}

if (import.meta.main) {
  // Ctrl-C also ends the test, and then the file is restored.
  process.on('SIGINT', () => process.exit(130))
  const folder = mkdtempSync(join(tmpdir(), 'trestle-mutations-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  for (const mutation of mutations) {
    const verdict = tryMutation(join(import.meta.dirname, '..'), folder, mutation)
    console.log(`${verdict}  ${mutation.breaks} (${mutation.test})`)
    if (verdict !== 'caught') process.exitCode = 1
  }
}
