import type { Distribution } from '../statistics.ts'
import type { Sample } from './load.ts'
import type { PasswordResults } from './passwords.ts'
import type { Endpoint } from './scenarios.ts'

export interface ServiceResult {
  readonly service: string
  readonly endpoints: readonly EndpointResult[]
  readonly passwords: PasswordResults | undefined
  readonly startUp: {
    /** The time from the start of the process to the first 200 of `/health`. */
    readonly healthMs: number
    /** The time from the start of the process to the first 200 of `/ready`. */
    readonly readyMs: number
    /** The memory one second after `/ready`. `undefined` if the system does not report it. */
    readonly idleMib: number | undefined
  }
  /** The memory after the loads, in MiB. `undefined` if the system does not report it. */
  readonly loadedMib: number | undefined
}

export interface EndpointResult extends Pick<Endpoint, 'name' | 'ofOther'> {
  readonly result: Sample
}

const GOALS = { healthMs: 500, idleMib: 150, loadedMib: 300, ofHashes: 0.95, slowerUsers: 1.5, healthP99Ms: 20 }

const COLUMNS = [36, 11, 8, 8, 7, 20]

export function reportLines({ service, endpoints, passwords, startUp, loadedMib }: ServiceResult): readonly string[] {
  return [
    '',
    row(service, 'requests/s', 'p50 ms', 'p99 ms', 'cpu us', 'ratio (spread)', '  goal'),
    ...endpoints.flatMap((endpoint) => [sampleRow(endpoint.name, endpoint.result), ...otherRow(endpoint, endpoints)]),
    ...(passwords ? passwordRows(passwords) : []),
    ...boundRow('start to first answer', startUp.healthMs, 'ms', { atMost: GOALS.healthMs }),
    ...boundRow('start to ready', startUp.readyMs, 'ms'),
    ...boundRow('memory, idle', startUp.idleMib, 'MiB', { atMost: GOALS.idleMib }),
    ...boundRow('memory, loaded', loadedMib, 'MiB', { atMost: GOALS.loadedMib }),
  ]
}

export function countErrors({ endpoints, passwords }: ServiceResult): number {
  const samples = [
    ...endpoints.map(({ result }) => result),
    ...(passwords?.work ?? []).map(({ result }) => result),
    ...(passwords ? [passwords.users.alone, passwords.users.meanwhile, passwords.health] : []),
  ]
  return samples.reduce((sum, { errors }) => sum + errors, 0)
}

/** The numbers of a sample, and a ratio with its goal, if any. */
export function sampleRow(
  name: string,
  { requestsPerSecond, p50Ms, p99Ms, processorUs }: Sample,
  ratio = '',
  goal = '',
): string {
  const times = [milliseconds(p50Ms), milliseconds(p99Ms), processorUs === undefined ? '' : processorUs.toFixed(0)]
  return row(`  ${name}`, rate(requestsPerSecond), ...times, ratio, goal)
}

/** The ratio to another endpoint's rate, if a goal is set for it. */
function otherRow({ ofOther, result }: EndpointResult, endpoints: readonly EndpointResult[]): readonly string[] {
  const other = endpoints.find(({ name }) => name === ofOther?.name)
  if (!ofOther || !other) return []
  const ratio = result.requestsPerSecond / other.result.requestsPerSecond
  return [row(`    of ${ofOther.name}`, '', '', '', '', ratio.toFixed(2), atLeast(ratio, ofOther.goal))]
}

function passwordRows({ work, users: { alone, meanwhile, ratio }, health }: PasswordResults): readonly string[] {
  const { slowerUsers, healthP99Ms } = GOALS
  return [
    ...work.flatMap(({ name, result, hashesPerSecond, ofHashes }) => [
      sampleRow(name, result),
      row(
        `    of ${rate(hashesPerSecond)} hashes`,
        ...['', '', '', ''],
        spread(ofHashes),
        atLeast(ofHashes.median, GOALS.ofHashes),
      ),
    ]),
    sampleRow('GET /user alone', alone),
    // The ratio of the p99 values. Lower is better.
    sampleRow(
      'GET /user during sign-ins',
      meanwhile,
      spread(ratio),
      verdict(ratio.median <= slowerUsers, `<= ${slowerUsers}`),
    ),
    sampleRow('GET /health during sign-ins', health, '', verdict(health.p99Ms <= healthP99Ms, `<= ${healthP99Ms} ms`)),
  ]
}

/** The line of one number, or no line if it is unknown. */
export function boundRow(
  name: string,
  value: number | undefined,
  unit: string,
  bound?: { readonly atMost?: number; readonly atLeast?: number },
): readonly string[] {
  if (value === undefined) return []
  const { atMost = Number.POSITIVE_INFINITY, atLeast: least = Number.NEGATIVE_INFINITY } = bound ?? {}
  const goal = bound?.atLeast === undefined ? `<= ${atMost}` : `>= ${least}`
  const judged = bound === undefined ? '' : verdict(value >= least && value <= atMost, goal)
  return [row(`  ${name}`, `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`, '', '', '', '', judged)]
}

export function atLeast(value: number, goal: number): string {
  return verdict(value >= goal, `>= ${goal}`)
}

export function spread({ median, smallest, largest }: Distribution): string {
  return `${median.toFixed(2)} (${smallest.toFixed(2)} - ${largest.toFixed(2)})`
}

function row(...cells: readonly string[]): string {
  const padded = cells.map((cell, index) =>
    index === 0 ? cell.padEnd(COLUMNS[0] ?? 0) : cell.padStart(COLUMNS[index] ?? 0),
  )
  return padded.join(' ').trimEnd()
}

function verdict(isMet: boolean, goal: string): string {
  return `  ${goal} ${isMet ? 'met' : 'NOT MET'}`
}

function rate(perSecond: number): string {
  return perSecond.toFixed(perSecond < 1_000 ? 1 : 0)
}

function milliseconds(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1)
}
