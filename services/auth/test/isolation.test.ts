import { afterAll, expect, it } from 'vitest'
import { runSql } from './adoption/restored-database.ts'
import { openTestApp, type TestApp } from './auth-app.ts'
import { outcomeOf } from './bodies.ts'
import { createSignedUp } from './signed-up.ts'

const first = await openTestApp()
const { directUrl } = first.database
await runSql(
  directUrl,
  `ALTER DATABASE ${new URL(directUrl).pathname.slice(1)} SET default_transaction_isolation = serializable`,
)
// Open these after the change, so that connections without an explicit level use the database's level.
const processes = [
  await openTestApp({ database: first.database }),
  await openTestApp({ database: first.database }),
] as const
afterAll(async () => {
  await Promise.all(processes.map((app) => app.close()))
  await first.close()
})

const refresh = (app: TestApp, token: string) =>
  app.post('/token?grant_type=refresh_token', { refresh_token: token }, { 'content-type': 'application/json' })

it('refreshes sessions in parallel in a database whose transactions are serializable by default', async () => {
  const [one, other] = processes
  let tokens: string[] = []
  for (let count = 0; count < 16; count += 1) {
    const { email, password } = await createSignedUp(one.deps)
    tokens.push((await one.post('/token?grant_type=password', { email, password })).json().refresh_token)
  }
  const rounds: unknown[] = []
  for (let round = 0; round < 4; round += 1) {
    const answers = await Promise.all(tokens.map((token, index) => refresh(index % 2 === 0 ? one : other, token)))
    rounds.push(...answers.map(outcomeOf))
    tokens = answers.map((answer) => answer.json().refresh_token)
  }
  expect(rounds).toEqual(Array(64).fill(200))
})
