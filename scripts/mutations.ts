// Breaks rules of money, tokens and stock, one at a time, and runs the test that must notice: `node scripts/mutations.ts`.
// Exit status 1 when a test still passes. Each file is restored. Start with a clean checkout; Ctrl-C restores the file too,
// kill -9 does not.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Mutation {
  readonly breaks: string
  readonly file: string
  /** A text that occurs once in the file. */
  readonly text: string
  readonly replacement: string
  /** The test file that must fail. */
  readonly test: string
}

/** Three for each service. */
export const mutations: readonly Mutation[] = [
  {
    breaks: 'a spent refresh token counts as stolen after the reuse interval',
    file: 'migrations/auth/functions/refresh_session.sql',
    text: 'moment <= t.updated_at + make_interval(secs => p_reuse_seconds))',
    replacement: 'true)',
    test: 'services/auth/src/routes/token.test.ts',
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
    text: 'digest(made), digest(challenge)',
    replacement: 'digest(made), digest(made)',
    test: 'services/auth/src/use-cases/grant-auth-code.test.ts',
  },
  {
    breaks: 'a capture takes at most what is pending',
    file: 'migrations/payments/functions/fragments/decide_operation.sql',
    text: '(i.amount BETWEEN 1 AND result.possible)',
    replacement: '(i.amount >= 1)',
    test: 'services/payments/src/routes/transactions/captures.test.ts',
  },
  {
    breaks: 'a refund leaves what disputes may take',
    file: 'migrations/payments/functions/fragments/decide_operation.sql',
    text: 'THEN t.captured - t.refunded - t.disputed ELSE',
    replacement: 'THEN t.captured - t.refunded ELSE',
    test: 'services/payments/src/disputes/dispute-repository.test.ts',
  },
  {
    breaks: 'halves are rounded to the even neighbour',
    file: 'migrations/payments/functions/round_half_even.sql',
    text: 'WHEN 0 THEN mod(div(n, d), 2)',
    replacement: 'WHEN 0 THEN 1',
    test: 'services/payments/test/money.test.ts',
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

/** @returns whether the test fails while the rule is broken */
function isCaught(root: string, { file, text, replacement, test }: Mutation): boolean {
  const path = join(root, file)
  const original = readFileSync(path, 'utf8')
  try {
    writeFileSync(path, original.replace(text, replacement))
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
    const { status } = spawnSync(process.execPath, [vitest, 'run', test], { cwd: root, stdio: 'ignore' })
    return status === 1
  } finally {
    writeFileSync(path, original)
  }
}

if (import.meta.main) {
  // Ctrl-C also ends the test, and then the file is restored.
  process.on('SIGINT', () => process.exit(130))
  for (const mutation of mutations) {
    const caught = isCaught(join(import.meta.dirname, '..'), mutation)
    console.log(`${caught ? 'caught' : 'MISSED'}  ${mutation.breaks} (${mutation.test})`)
    if (!caught) process.exitCode = 1
  }
}
