import { openWire, type SentStatement, type StatementFate } from '@trestle/testing/cut-wire.ts'
import { say } from '../../program.ts'
import type { CitusCluster } from '../../servers/citus-cluster.ts'
import { type Query, readState } from './expectations.ts'
import { type Release, ROLE } from './payments-runs.ts'
import {
  endsWith,
  findLasting,
  isOfServers,
  listSegments,
  listShares,
  type Range,
  type Segment,
  type SentBy,
  withoutSecrets,
} from './statements.ts'

export interface KilledEverywhere {
  readonly cluster: CitusCluster
  readonly title: string
  readonly words: readonly string[]
  readonly release: Release
  /** The database that is copied for each share of the statements. */
  readonly from: string
  /** The name of the database with the result of a complete run. */
  readonly to: string
  /**
   * The command without its initial checks, if it has any. The checks are killed only in the first share, because they take half
   * of the time.
   */
  readonly work?: Sender | undefined
  /** Commands that send the same statements as a part of the run. */
  readonly parts: readonly (readonly string[])[]
  /** Throws if a database differs from the result of a complete run. */
  readonly expect: (database: string) => Promise<void>
}

type Serialize = <T>(act: () => Promise<T>) => Promise<T>

type Sender = (url: string) => Promise<unknown>

interface Run {
  readonly database: string
  /** The statements of a complete run. */
  readonly sent: readonly string[]
  readonly segments: readonly Segment[]
  readonly serialized: Serialize
  /** Whether this is the first share, which includes the statements of the checks. */
  readonly isFirst: boolean
}

class KilledShare {
  readonly #killed: KilledEverywhere
  readonly #run: Run

  constructor(killed: KilledEverywhere, run: Run) {
    this.#killed = killed
    this.#run = run
  }

  async killAt(share: Range): Promise<void> {
    const { sent, segments, database } = this.#run
    const { cluster, release, words, expect } = this.#killed
    const touched = segments.filter(({ from, to }) => to > share.from && from < share.to)
    // Changes of the servers already exist, so no run sends them again.
    const before = segments.findLast(
      (one) => one.to <= (touched[0]?.from ?? 0) && !sent.slice(one.from, one.to).some(isOfServers),
    )
    if (before) await this.#killAtEnd(before, 'cut behind', (url) => release.runHere(url, words))
    const watcher = await cluster.watch(0, database)
    try {
      for (const segment of touched) await this.#killIn(segment, share, watcher.query)
    } finally {
      await watcher.end()
    }
    await release.runHere(cluster.url(database), words)
    await expect(database)
  }

  /**
   * Kills runs before the end of a segment, and then after each statement of the segment in this share. A statement with a
   * lasting effect on other servers is not sent again, so each later kill uses its own database.
   */
  async #killIn(segment: Segment, share: Range, query: Query): Promise<void> {
    const { sent } = this.#run
    const [from, to] = [Math.max(share.from, segment.from), Math.min(share.to, segment.to)]
    const lasting = findLasting(sent, segment)
    for (let nth = Math.max(from, lasting + 1); nth < to; nth += 1) await this.#killAlone(segment, nth)
    if (from > lasting) return
    const send = this.#senderOf(segment)
    const findRoute = () => this.#killAtEnd({ from: segment.from, to: lasting + 1 }, 'cut before', send)
    let route = await findRoute()
    const state = await readState(query)
    for (let nth = from; nth < Math.min(to, lasting + 1); nth += 1) {
      const fromEnd = lasting - nth
      let isKilled = await this.#killOn(route, fromEnd, send)
      if (!isKilled) {
        // The run that found the route has committed everything before the segment, for example a role.
        route = await findRoute()
        isKilled = await this.#killOn(route, fromEnd, send)
      }
      if (!isKilled)
        throw new Error(`a run that was killed before statement ${nth + 1} sends others when it is run again`)
      if (nth === segment.to - 1) continue
      const left = await readState(query)
      if (left !== state) throw new Error(`killed at statement ${nth + 1}, it left ${left} instead of ${state}`)
    }
  }

  /**
   * Kills a run after a statement of its route, counted from the end.
   * @returns whether it sent the route's statements until then; if not, it is killed before the first different statement
   */
  async #killOn(route: readonly string[], fromEnd: number, send: Sender): Promise<boolean> {
    const fates: StatementFate[] = []
    await this.#kill(send, ({ nth, text }) => {
      const isOther = withoutSecrets(text) !== route[nth - 1]
      const fate = isOther ? 'cut before' : nth < route.length - fromEnd ? 'passes' : 'cut behind'
      fates.push(fate)
      return fate
    })
    return !fates.includes('cut before')
  }

  /** Kills a run on its own database, after a statement of a segment. */
  async #killAlone(segment: Segment, nth: number): Promise<void> {
    const { segments, serialized, isFirst } = this.#run
    const { cluster, from, to, release, words, expect } = this.#killed
    const database = `${to}_alone_${nth}`
    await serialized(() => cluster.copy(from, database))
    if (isFirst) await forgetLogins(cluster)
    const before = segments[segments.indexOf(segment) - 1] ?? segment
    const alone = new KilledShare(this.#killed, { ...this.#run, database })
    await alone.#killAtEnd({ from: before.from, to: nth + 1 }, 'cut behind', (url) => release.runHere(url, words))
    await release.runHere(cluster.url(database), words)
    await expect(database)
    if (isFirst) await forgetLogins(cluster)
    await serialized(() => cluster.drop(database))
  }

  /** Kills a run at the last of some consecutive statements. @returns all statements that the run sent */
  async #killAtEnd({ from, to }: Range, fate: StatementFate, send: Sender): Promise<readonly string[]> {
    const texts = this.#run.sent.slice(from, to)
    const seen: string[] = []
    await this.#kill(send, ({ text }) => {
      seen.push(withoutSecrets(text))
      return endsWith(seen, texts) ? fate : 'passes'
    })
    return seen
  }

  /** Runs a command until it is killed. @throws Error if it ends before that */
  async #kill(send: Sender, judge: (statement: SentStatement) => StatementFate): Promise<void> {
    const { cluster } = this.#killed
    const kills: string[] = []
    await forgetPoll(cluster, this.#run.database)
    const wire = await openWire(cluster.url(this.#run.database), (statement) => {
      const fate = kills.length > 0 ? 'passes' : judge(statement)
      if (fate !== 'passes') kills.push(statement.text)
      return fate
    })
    const outcome = await send(wire.url).then(
      () => 'ended by itself',
      (error: unknown) => `failed: ${error}`,
    )
    if (kills.length > 0) await wire.ended
    await wire.close()
    if (kills.length === 0) {
      throw new Error(`a run ${outcome}, and never came to the statement to kill it at`)
    }
  }

  #senderOf({ part }: Segment): Sender {
    const { work, release, words } = this.#killed
    if (part === undefined && work && !this.#run.isFirst) return work
    return (url) => release.runHere(url, part ?? words)
  }
}

/** Removes server-wide objects, such as logins, so that the state is as before the first run. */
async function forgetLogins({ superuserUrls, asSuperuser }: CitusCluster): Promise<void> {
  for (const node of superuserUrls().keys()) {
    await asSuperuser(node, 'postgres', `ALTER ROLE ${ROLE} NOLOGIN`)
    await asSuperuser(node, 'postgres', `ALTER ROLE ${ROLE} RESET lock_timeout`)
    await asSuperuser(node, 'postgres', 'ALTER ROLE trestle RESET lock_timeout')
  }
}

/**
 * Resets the time of the last check for waiting commands, which the set-up of the job queue makes at most once a minute.
 * Otherwise the statements of a run would depend on the time since the previous run.
 */
async function forgetPoll({ asSuperuser }: CitusCluster, database: string): Promise<void> {
  await asSuperuser(0, database, 'UPDATE payments_jobs.version SET bam_on = NULL')
}

/** The number of concurrent databases. A run waits for three seconds before it moves rows. */
const AT_ONCE = 6
/** The number of statements at which one database is killed. */
const SHARE = 160

/**
 * Kills a command at every statement of a complete run, and runs it again. The same database is killed repeatedly. Uncommitted
 * work is lost, so the next run sends it again and is killed one statement later. At each statement, the statement is sent and
 * its result is lost. Statements that end a transaction are also killed before they are sent. Between runs, committed data must
 * stay the same, and the next run must continue with the same statements. The last run is not killed, and its result is checked.
 * @throws Error with all problems
 */
export async function killEverywhere(killed: KilledEverywhere): Promise<void> {
  const { cluster, title, from, to, words } = killed
  await cluster.copy(from, to)
  const sent = await record(killed, words)
  await killed.expect(to)
  const parts: SentBy[] = []
  for (const part of killed.parts) parts.push(await record(killed, part))
  const segments = listSegments(sent.texts, parts)
  say(`${title} sends ${sent.texts.length} statements in ${segments.length} parts`)
  const failures: string[] = []
  const serialized = serialize()
  const killShare = async (share: Range, nth: number) => {
    const database = `${to}_${nth}`
    const startMs = performance.now()
    await serialized(() => cluster.copy(from, database))
    const run = { database, sent: sent.texts, segments, serialized, isFirst: nth === 0 }
    const outcome = await new KilledShare(killed, run).killAt(share).then(
      () => 'and run again',
      (error: unknown) => {
        failures.push(`${title}, statements ${share.from + 1} to ${share.to}: ${error}`)
        return `FAILED: ${error}`
      },
    )
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1)
    say(`${title}, killed at each of the statements ${share.from + 1} to ${share.to}, ${outcome}: ${seconds} s`)
    if (outcome === 'and run again') await serialized(() => cluster.drop(database))
  }
  const [alone, ...others] = listShares(sent.texts, SHARE)
  if (alone && alone.to > 0) {
    await forgetLogins(cluster)
    await killShare(alone, 0)
  }
  const waiting = others.entries()
  const killOnAndOn = async () => {
    for (const [index, share] of waiting) await killShare(share, index + 1)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, killOnAndOn))
  if (failures.length > 0) throw new Error(failures.join('\n'))
}

/** Records the statements of a complete run on the result database. */
async function record({ cluster, to, release }: KilledEverywhere, words: readonly string[]): Promise<SentBy> {
  const texts: string[] = []
  await forgetPoll(cluster, to)
  const wire = await openWire(cluster.url(to), ({ text }) => {
    texts.push(withoutSecrets(text))
    return 'passes'
  })
  await release.runHere(wire.url, words).finally(() => wire.close())
  return { words, texts }
}

/** Runs copies and drops of databases one at a time. */
function serialize(): Serialize {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const next = last.then(act, act)
    last = next.catch(() => {})
    return next
  }
}
