import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Command, Option } from 'commander'
import { z } from 'zod'
import { type Bench, openBench } from '../bench.ts'
import { createServerFolder, ourServer, theirServer } from '../compare-servers/servers.ts'
import { positiveInteger, ROOT, runCommand, say } from '../program.ts'
import { execute } from '../servers/database.ts'
import { openTabs, requireChromium, type Tabs } from './adopt/browser.ts'
import { importRunning } from './adopt/import.ts'
import { runKills } from './adopt/kills.ts'
import { expectHarmless } from './adopt/mistake.ts'
import { adopt, environmentOf, type Place, start, type Variant } from './adopt/place.ts'
import {
  addFactor,
  expectSignIn,
  forEach,
  type Known,
  refresh,
  sayAcknowledged,
  sendLoad,
  signUp,
} from './adopt/users.ts'

// Moves a running supabase/auth to auth and back (docs/runbooks/moving-in.md). It fills the old service over HTTP, and prepares
// the adoption while requests continue. None of them may fail. It kills the old service, adopts its database, checks that no
// acknowledged write is lost, and gives the database back. With `--kills` it instead kills adoptions at random moments. With
// `--import` it imports from the running service into another database.

interface Options extends Variant {
  readonly program: string
  readonly users: number
  readonly rate: number
  readonly kills?: number
  readonly seed?: number
  readonly import: boolean
}

const command = new Command('scripts/adopt-drill')
  .description('Moves a running supabase/auth to auth and back, while requests go on.')
  .requiredOption('--program <file>', 'the program of supabase/auth, with its migrations beside it')
  .option('--users <number>', 'users before the requests begin', positiveInteger, 200)
  .option('--rate <number>', 'requests a second during the adoption', positiveInteger, 50)
  .addOption(new Option('--form <number>', 'the form of its refresh tokens').choices(['1', '2']).default('1'))
  .option('--encrypted', 'it encrypts passwords, secrets of factors and keys of sessions', false)
  .option('--no-audience', 'GOTRUE_JWT_AUD is unset')
  .option('--kills <number>', 'kill adoptions so often at random moments, and continue them', positiveInteger)
  .option('--seed <number>', 'chooses the moments of --kills', positiveInteger)
  .option('--import', 'import into another database instead, three times', false)
  .action(run)

/** How long requests run before the adoption begins. */
const LEAD_MS = 3_000
/** One user in this many has an authenticator app. */
const FACTOR_EVERY = 20
/** One user in this many does not refresh at auth, so the session stays valid at the old service. */
const QUIET_EVERY = 4
const SEEDS = 2 ** 31 - 1
const Count = z.object({ count: z.number() })

async function run(options: Options): Promise<void> {
  const chromium = requireChromium()
  await using bench = await openBench()
  const createPlace = placesIn(bench, options)
  const { users, rate, kills, seed = Math.ceil(Math.random() * SEEDS) } = options
  if (kills !== undefined) return await runKills({ kills, seed, users, rate, createPlace })
  const place = await createPlace()
  if (options.import) {
    const targetUrl = await bench.database.create('trestle_bench_import')
    return await importRunning({ users, rate, source: place, targetUrl })
  }
  await moveBack(place, await moveIn(place, options, chromium))
}

/** Returns a function that creates places. Each has a new database of the old program. */
function placesIn({ folder, database }: Bench, options: Options): () => Promise<Place> {
  const theirs = theirServer(resolve(options.program), createServerFolder(folder, 'theirs'))
  const ours = ourServer(ROOT, createServerFolder(folder, 'ours'), 'supabase')
  const env = environmentOf(options)
  return async () => {
    const databaseUrl = await database.create('trestle_bench_adopt')
    await theirs.migrate(databaseUrl)
    return { databaseUrl, theirs, ours, env }
  }
}

interface Moved {
  readonly known: readonly Known[]
  /** The users who have refreshed, with their tokens of the old server. */
  readonly refreshed: readonly Known[]
  readonly quiet: readonly Known[]
}

async function moveIn(place: Place, { users, rate, program }: Options, chromium: string): Promise<Moved> {
  await using started = new AsyncDisposableStack()
  await using old = await start(place, place.theirs)
  const known: Known[] = []
  while (known.length < users) {
    const user = await signUp(old.url, known.length)
    if (known.length % FACTOR_EVERY === 0) await addFactor(old.url, user)
    known.push(user)
  }
  const tabs = await openTabs(chromium, old.url)
  started.defer(() => tabs.close())
  const load = sendLoad(old.url, known, rate)
  await pause(LEAD_MS)
  say(await prepareWhile(place, tabs).finally(() => load.stop()))
  const counts = await load.stop()
  sayAcknowledged(counts, 'while the adoption was prepared')
  if (counts.failures.length > 0) throw new Error('adopt --prepare has disturbed the old service')
  await old.kill()
  say(await adopt(place))
  await expectHarmless(place, resolve(program), known)
  await using own = await start(place, place.ours)
  await tabs.continueAt(own.url)
  const moved = await expectKnown(own.url, known)
  known.push(await signUp(own.url, known.length))
  await own.stop()
  await expectCount(place, known.length + 1)
  return { known, ...moved }
}

async function prepareWhile(place: Place, tabs: Tabs): Promise<string> {
  const adopting = adopt(place, '--prepare')
  const state = { isOver: false }
  const over = adopting.then(
    () => {
      state.isOver = true
    },
    () => {
      state.isOver = true
    },
  )
  while (!state.isOver) await tabs.refreshFirst()
  await over
  return adopting
}

/** Checks that every user signs in and has the last acknowledged values. All except the quiet users refresh. */
async function expectKnown(url: string, known: readonly Known[]): Promise<Pick<Moved, 'refreshed' | 'quiet'>> {
  const [refreshed, quiet]: [Known[], Known[]] = [[], []]
  await forEach(known, async (user, number) => {
    const isQuiet = number % QUIET_EVERY === 0
    if (!isQuiet) await expectRefresh(url, user)
    ;(isQuiet ? quiet : refreshed).push(user)
    await expectSignIn(url, user)
  })
  const factors = known.filter(({ factor }) => factor !== undefined).length
  say(
    `${known.length} users sign in and have their metadata, ${refreshed.length} refresh, ${factors} prove their factor`,
  )
  return { refreshed, quiet }
}

async function expectRefresh(url: string, { email, token }: Known): Promise<void> {
  const answer = await refresh(url, token)
  if (answer.status !== 200) throw new Error(`${email} does not refresh: ${JSON.stringify(answer)}`)
}

async function expectCount({ databaseUrl }: Place, acknowledged: number): Promise<void> {
  const [row] = await execute(databaseUrl, 'SELECT count(*)::int AS count FROM auth.users')
  const { count } = Count.parse(row)
  say(`${count} users, and ${acknowledged} were acknowledged`)
  if (count < acknowledged) throw new Error('users are lost')
}

async function moveBack(place: Place, { known, refreshed, quiet }: Moved): Promise<void> {
  say(await adopt(place, '--undo', '--yes'))
  await using old = await start(place, place.theirs)
  await forEach(known, (user) => expectSignIn(old.url, user))
  await forEach(quiet, (user) => expectRefresh(old.url, user))
  await forEach(refreshed, async ({ email, token }) => {
    const { status } = await refresh(old.url, token)
    if (status === 200) throw new Error(`a token of ${email} that was spent refreshes again`)
  })
  await old.stop()
  say(`${known.length} users sign in at the old service again; ${quiet.length} sessions that had not refreshed go on`)
}

await runCommand(command)
