import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { say } from '../../program.ts'
import { execute } from '../../servers/database.ts'
import { adopt, commandOf, findDifference, type Place, readRows, start } from './place.ts'
import { type Known, sendLoad, signUp } from './users.ts'

export interface KillsOptions {
  readonly kills: number
  readonly seed: number
  readonly users: number
  readonly rate: number
  readonly createPlace: () => Promise<Place>
}

/** The progress of a killed run, by its output. */
const PROGRESS = {
  'before the directory was filled': '',
  'while refresh tokens were copied': 'the directory of users is filled',
  'at the switch': 'the refresh tokens are copied',
  'after the switch': 'adopted migration',
} as const

/** The number of kills of an adoption before it runs to its end. */
const KILLS_OF_ADOPTION = 5

/**
 * Kills adoptions at random moments while the old service is under load, and continues them.
 * @throws Error if acknowledged data is lost, or if the rows differ from those of a run without a kill
 */
export async function runKills(options: KillsOptions): Promise<void> {
  const { kills, seed, createPlace } = options
  say(`seed ${seed}`)
  const random = randomOf(seed)
  const counts = new Map<string, number>(Object.keys(PROGRESS).map((progress) => [progress, 0]))
  let wholeMs = await measureWhole(await createPlace(), options)
  for (let killed = 0, adoption = 1; killed < kills; adoption += 1) {
    const place = await createPlace()
    const wanted = Math.min(KILLS_OF_ADOPTION, kills - killed)
    const { known, reached } = await killSome(place, options, { wanted, wholeMs, random })
    for (const progress of reached) counts.set(progress, (counts.get(progress) ?? 0) + 1)
    killed += reached.length
    // If runs ended before their kills, the machine has become faster: kill earlier.
    if (reached.length < wanted) wholeMs *= 0.8
    await expectWhole(place, known)
    say(`adoption ${adoption}: ${killed} of ${kills} kills, ${known.length} users, rows as without a kill`)
  }
  for (const [progress, count] of counts) say(`${count} kills ${progress}`)
}

async function measureWhole(place: Place, { users, rate }: KillsOptions): Promise<number> {
  await using old = await start(place, place.theirs)
  const known: Known[] = []
  while (known.length < users) known.push(await signUp(old.url, known.length))
  const load = sendLoad(old.url, known, rate)
  const fromMs = performance.now()
  await adopt(place).finally(() => load.stop())
  const wholeMs = performance.now() - fromMs
  await old.stop()
  say(`an adoption without a kill takes ${(wholeMs / 1_000).toFixed(1)} s under load`)
  return wholeMs
}

async function killSome(
  place: Place,
  { users, rate }: KillsOptions,
  { wanted, wholeMs, random }: { readonly wanted: number; readonly wholeMs: number; readonly random: () => number },
): Promise<{ readonly known: readonly Known[]; readonly reached: readonly string[] }> {
  await using old = await start(place, place.theirs)
  const known: Known[] = []
  while (known.length < users) known.push(await signUp(old.url, known.length))
  const load = sendLoad(old.url, known, rate)
  const reached: string[] = []
  // A run that ends before its kill is not counted. Another run has little work left.
  for (let attempt = 0; attempt < wanted; attempt += 1) {
    const progress = await adoptUntil(place, random() * wholeMs)
    if (progress !== undefined) reached.push(progress)
  }
  await adopt(place).finally(() => load.stop())
  await old.stop()
  return { known, reached }
}

/** Adopts, and kills the process after a while. @returns its progress, or `undefined` if it had already ended */
async function adoptUntil(place: Place, afterMs: number): Promise<string | undefined> {
  const { program, entry, env } = commandOf(place)
  const child = spawn(program, [entry, 'adopt'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (data) => {
    said += String(data)
  })
  const ended = once(child, 'exit')
  const done = await Promise.race([ended.then(() => true), pause(afterMs, false)])
  if (done) return undefined
  child.kill('SIGKILL')
  await ended
  return Object.entries(PROGRESS).findLast(([, printed]) => said.includes(printed))?.[0]
}

/**
 * Columns with times or random values of a run, by table. Tokens of form 2 have no row, and so no id, at the old service.
 * Identities of old versions get their ids at the switch.
 */
async function listChance({ databaseUrl, env }: Place): Promise<Readonly<Record<string, readonly string[]>>> {
  const made = await execute(
    databaseUrl,
    "SELECT FROM auth_before_trestle.adoption WHERE 'identities.provider_id' = ANY (changes)",
  )
  return {
    one_time_tokens: ['id'],
    users: ['claimed_at'],
    trestle_migrations: ['timestamp'],
    ...(made.length > 0 ? { identities: ['id'] } : {}),
    ...(env.SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION === '2' ? { refresh_tokens: ['id', 'parent_id'] } : {}),
  }
}

/** Checks that no acknowledged data is lost, and that an adoption of the same rows without a kill has the same result. */
async function expectWhole(place: Place, known: readonly Known[]): Promise<void> {
  const { databaseUrl } = place
  const chance = await listChance(place)
  await expectAcknowledged(databaseUrl, known)
  const found = await readRows(databaseUrl, ['auth'], chance)
  await adopt(place, '--undo', '--yes')
  await adopt(place)
  const difference = findDifference(await readRows(databaseUrl, ['auth'], chance), found)
  if (difference !== undefined) throw new Error(`a run without a kill ends otherwise: ${difference}`)
}

async function expectAcknowledged(databaseUrl: string, known: readonly Known[]): Promise<void> {
  const asked = JSON.stringify(
    known.map(({ email, token, written, factor }) => ({ email, token, written, factor: factor?.id })),
  )
  const lost = await execute(
    databaseUrl,
    `SELECT k.email FROM json_to_recordset('${asked}') AS k (email text, token text, written int, factor uuid)
     LEFT JOIN auth.users u ON u.email = k.email
     LEFT JOIN auth.refresh_tokens t ON t.user_id = u.id AND t.token_hash = sha256(convert_to(k.token, 'UTF8'))
       -- An answer may have been lost: then the token has a child that nobody knows.
       AND (NOT t.revoked OR EXISTS (SELECT FROM auth.refresh_tokens c WHERE c.parent_id = t.id))
     LEFT JOIN auth.mfa_factors f ON f.id = k.factor AND f.user_id = u.id AND f.status = 'verified'
     WHERE t.id IS NULL OR (k.factor IS NOT NULL AND f.id IS NULL) OR (u.raw_user_meta_data ->> 'n')::int < k.written`,
  )
  if (lost.length > 0)
    throw new Error(`${lost.length} of ${known.length} users lack what was acknowledged: ${JSON.stringify(lost[0])}`)
}

/** Random numbers from 0 to 1 that depend only on a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
