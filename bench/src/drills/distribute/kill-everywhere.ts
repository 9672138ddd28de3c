import { openWire } from '@trestle/testing/cut-wire.ts'
import { say } from '../../program.ts'
import { forgetLogins, forgetPoll, type InTurn, type KilledEverywhere, KilledShare } from './killed-share.ts'
import { listSegments, listShares, type Range, type SentBy, withoutSecrets } from './statements.ts'

/** How many databases are killed at a time: a run waits for three seconds before it moves rows. */
const AT_ONCE = 6
/** How many statements one database is killed at. */
const SHARE = 160

/**
 * Kills a command at every statement that a run sends which nobody kills, and runs it again. A database is
 * killed again and again: what a killed run has not committed is gone, so the next run sends it again, and is
 * killed one statement later. Each statement is sent, and its answer lost. What ends a transaction is also
 * killed before it is sent. In between, what is committed must stay as it is, and the next run must go on
 * with the same statements. At last a run ends by itself, and its result is judged.
 * @throws Error with all that went wrong
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
  const inTurn = createTurns()
  const killShare = async (share: Range, nth: number) => {
    const database = `${to}_${nth}`
    const startMs = performance.now()
    await inTurn(() => cluster.copy(from, database))
    const run = { database, sent: sent.texts, segments, inTurn, isFirst: nth === 0 }
    const outcome = await new KilledShare(killed, run).killAt(share).then(
      () => 'and run again',
      (error: unknown) => {
        failures.push(`${title}, statements ${share.from + 1} to ${share.to}: ${error}`)
        return `FAILED: ${error}`
      },
    )
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1)
    say(`${title}, killed at each of the statements ${share.from + 1} to ${share.to}, ${outcome}: ${seconds} s`)
    if (outcome === 'and run again') await inTurn(() => cluster.drop(database))
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

/** The statements of a command that nobody kills, on the database of the result. */
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

/** Runs one piece of work after the other: databases are copied and dropped while nobody else is. */
function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const next = last.then(act, act)
    last = next.catch(() => {})
    return next
  }
}
