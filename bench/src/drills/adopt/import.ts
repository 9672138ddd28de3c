import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { say } from '../../program.ts'
import { execute } from '../../servers/database.ts'
import { runProgram } from '../../servers/run-program.ts'
import { commandOf, type Place, start } from './place.ts'
import { addFactor, expectSignIn, forEach, type Known, refresh, sayAcknowledged, sendLoad, signUp } from './users.ts'

/** One user in this many has an authenticator app. */
const FACTOR_EVERY = 20
const Count = z.object({ count: z.number() })

/**
 * Imports from supabase/auth (docs/runbooks/moving-in.md): while it runs, again for later changes, and once after it was stopped.
 * @throws Error if acknowledged data is lost
 */
export async function importRunning({
  users,
  rate,
  source,
  targetUrl,
}: {
  readonly users: number
  readonly rate: number
  /** The old service, with its own database. */
  readonly source: Place
  /** An empty database for the new service. */
  readonly targetUrl: string
}): Promise<void> {
  const target: Place = { ...source, databaseUrl: targetUrl }
  await source.ours.migrate(targetUrl)
  await using reader = await createReader(source.databaseUrl)
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
      say(`${run} run, while the old service serves\n${await take(reader, target)}`)
  } finally {
    await load.stop()
  }
  sayAcknowledged(await load.stop(), 'during these runs')
  await old.stop()
  say(`last run, after the old service was stopped\n${await take(reader, target)}`)
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

/** A database role of the source that may only read. */
interface Reader extends AsyncDisposable {
  /** The database of the source, without the password. */
  readonly url: string
  readonly password: string
}

const RUNBOOK = new URL('../../../../docs/runbooks/moving-in.md', import.meta.url)

/** Creates the role as the runbook says, and drops it at the end. @throws Error if the runbook has other statements */
async function createReader(databaseUrl: string): Promise<Reader> {
  const runbook = readFileSync(RUNBOOK, 'utf8')
  const [making] = /^ *CREATE ROLE auth_reader\b[\s\S]*?(?=^ *END$)/m.exec(runbook) ?? []
  const [dropping] = /DROP OWNED BY auth_reader; DROP ROLE auth_reader/.exec(runbook) ?? []
  const [, password] = /PASSWORD '([^']+)'/.exec(making ?? '') ?? []
  if (making === undefined || dropping === undefined || password === undefined)
    throw new Error('docs/runbooks/moving-in.md does not say how the reader is made and dropped')
  await execute(databaseUrl, making)
  return {
    url: Object.assign(new URL(databaseUrl), { username: 'auth_reader', password: '' }).href,
    password,
    [Symbol.asyncDispose]: async () => {
      await execute(databaseUrl, dropping)
    },
  }
}

/** Runs `auth import`. @returns its output @throws Error with its output if it fails or omits a user */
function take({ url, password }: Reader, target: Place): Promise<string> {
  const { program, entry, env } = commandOf(target)
  const args = [entry, 'import', '--from-database', url]
  return runProgram({ program, args, env: { ...env, PGPASSWORD: password }, cwd: import.meta.dirname })
}
