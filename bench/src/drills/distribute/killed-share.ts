import { openWire, type SentStatement, type StatementFate } from '@trestle/testing/cut-wire.ts'
import type { CitusCluster } from '../../servers/citus-cluster.ts'
import { type Query, readState } from './expectations.ts'
import { type Release, ROLE } from './payments-runs.ts'
import { endsWith, findLasting, isOfServers, type Range, type Segment, withoutSecrets } from './statements.ts'

export interface KilledEverywhere {
  readonly cluster: CitusCluster
  readonly title: string
  readonly words: readonly string[]
  readonly release: Release
  /** The database that each share of the statements gets a copy of. */
  readonly from: string
  /** The name under which the result of a run that nobody killed is kept. */
  readonly to: string
  /**
   * The command without the checks before its work, which are killed in the first share of the statements,
   * and would take half of the time of the others. Undefined: it has none.
   */
  readonly work?: Sender | undefined
  /** Commands that send the same statements as a part of the run. */
  readonly parts: readonly (readonly string[])[]
  /** Throws when a database is not what a complete run makes. */
  readonly expect: (database: string) => Promise<void>
}

/** Runs one piece of work after the other. */
export type InTurn = <T>(act: () => Promise<T>) => Promise<T>

/** Sends the statements of a command to a database. */
type Sender = (url: string) => Promise<unknown>

interface Run {
  readonly database: string
  /** The statements of the run that nobody killed. */
  readonly sent: readonly string[]
  readonly segments: readonly Segment[]
  readonly inTurn: InTurn
  /** Whether it has the first statements, and with them those of the checks. */
  readonly isFirst: boolean
}

export class KilledShare {
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
    // What changes the servers is there already, so no run sends it again.
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
   * Kills runs before the end of a segment, and then behind each of its statements that belong to the share. What comes behind a
   * statement that other servers keep is not sent again, so each kill there has a database of its own.
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
        // The run that found the route has committed what comes before the segment, such as a role.
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
   * Kills a run behind a statement of its route: so many statements before the last one.
   * @returns whether it sent the statements of the route until then. If not, it is killed before the first other statement
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

  /** Kills a run of its own database behind a statement of a segment. */
  async #killAlone(segment: Segment, nth: number): Promise<void> {
    const { segments, inTurn, isFirst } = this.#run
    const { cluster, from, to, release, words, expect } = this.#killed
    const database = `${to}_alone_${nth}`
    await inTurn(() => cluster.copy(from, database))
    if (isFirst) await forgetLogins(cluster)
    const before = segments[segments.indexOf(segment) - 1] ?? segment
    const alone = new KilledShare(this.#killed, { ...this.#run, database })
    await alone.#killAtEnd({ from: before.from, to: nth + 1 }, 'cut behind', (url) => release.runHere(url, words))
    await release.runHere(cluster.url(database), words)
    await expect(database)
    if (isFirst) await forgetLogins(cluster)
    await inTurn(() => cluster.drop(database))
  }

  /** Kills a run where it sends the last of some statements that follow each other. @returns all statements that it sent */
  async #killAtEnd({ from, to }: Range, fate: StatementFate, send: Sender): Promise<readonly string[]> {
    const texts = this.#run.sent.slice(from, to)
    const seen: string[] = []
    await this.#kill(send, ({ text }) => {
      seen.push(withoutSecrets(text))
      return endsWith(seen, texts) ? fate : 'passes'
    })
    return seen
  }

  /** Runs a command until it is killed. @throws Error when it ends before that */
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

/** Takes what belongs to the servers rather than to a database away, as it was before the first run. */
export async function forgetLogins({ superuserUrls, asSuperuser }: CitusCluster): Promise<void> {
  for (const node of superuserUrls().keys()) {
    await asSuperuser(node, 'postgres', `ALTER ROLE ${ROLE} NOLOGIN`)
    await asSuperuser(node, 'postgres', `ALTER ROLE ${ROLE} RESET lock_timeout`)
    await asSuperuser(node, 'postgres', 'ALTER ROLE trestle RESET lock_timeout')
  }
}

/**
 * Has the next set-up of the job queue ask for commands that wait, which it does not do twice within a minute. Else the
 * statements of a run would depend on the time since the run before it.
 */
export async function forgetPoll({ asSuperuser }: CitusCluster, database: string): Promise<void> {
  await asSuperuser(0, database, 'UPDATE payments_jobs.version SET bam_on = NULL')
}
