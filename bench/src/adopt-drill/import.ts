import { z } from 'zod'
import { execute } from '../database.ts'
import { runProgram } from '../processes/run-program.ts'
import { sendLoad } from './load.ts'
import { commandOf, type Place, say, start } from './place.ts'
import { addFactor, expectSignIn, forEach, type Known, refresh, signUp } from './users.ts'

/** What an import is tried with. */
export interface ImportOptions {
  readonly users: number
  readonly rate: number
  /** The old service, with a database of its own. */
  readonly source: Place
  /** An empty database for ours. */
  readonly targetUrl: string
}

/** Each so-manyth user has an authenticator app. */
const FACTOR_EVERY = 20
const Count = z.object({ count: z.number() })

/**
 * Imports from a running supabase/auth (docs/runbooks/moving-in.md): while it serves, again for what has changed since, and a last
 * time after it was stopped.
 * @throws Error when something is lost that was acknowledged
 */
export async function importRunning({ users, rate, source, targetUrl }: ImportOptions): Promise<void> {
  const target: Place = { ...source, databaseUrl: targetUrl }
  await source.ours.migrate(targetUrl)
  const known: Known[] = []
  await using old = await start(source, source.theirs)
  while (known.length < users) {
    const user = await signUp(old.url, known.length)
    if (known.length % FACTOR_EVERY === 0) await addFactor(old.url, user)
    known.push(user)
  }
  const load = sendLoad(old.url, known, rate)
  try {
    for (const run of ['first', 'second'])
      say(`${run} run, while the old service serves\n${await take(source, target)}`)
  } finally {
    await load.stop()
  }
  await old.stop()
  say(`last run, after the old service was stopped\n${await take(source, target)}`)
  await using own = await start(target, target.ours)
  await forEach(known, async (user) => {
    const answer = await refresh(own.url, user.token)
    if (answer.status !== 200) throw new Error(`${user.email} does not refresh: ${JSON.stringify(answer)}`)
    await expectSignIn(own.url, user)
  })
  const [row] = await execute(targetUrl, 'SELECT count(*)::int AS count FROM auth.users')
  const { count } = Count.parse(row)
  if (count < known.length) throw new Error(`${known.length} users were acknowledged, and ${count} are there`)
  say(`${count} users, ${known.length} acknowledged: all of these refresh, sign in and have their metadata`)
}

/** Runs `auth import`. @returns what it has printed. @throws Error with its output when it fails, or when it holds a user back */
function take(source: Place, target: Place): Promise<string> {
  const { program, entry, env } = commandOf(target)
  const args = [entry, 'import', '--from-database', source.databaseUrl]
  return runProgram({ program, args, env, cwd: import.meta.dirname })
}
