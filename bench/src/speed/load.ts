import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { runProgram } from '../servers/run-program.ts'
import type { Server } from '../servers/server.ts'
import { median } from '../statistics.ts'

/** Repeated requests of several connections. Each connection waits for its answer. */
export const Load = z.object({
  method: z.literal(['GET', 'POST']),
  /**
   * In the path, the headers and the body, `{token}` stands for one of `tokens` in turn, `{id}` for a random number from 1 to
   * `idMax`, and `{sequence}` for a number that is unique to the request.
   */
  path: z.string(),
  headers: z.record(z.string(), z.string()).exactOptional(),
  body: z.string().exactOptional(),
  tokens: z.array(z.string()).readonly().exactOptional(),
  idMax: z.number().exactOptional(),
  /** The member of the answer that contains the next token. Each token is then used once. */
  chain: z.string().exactOptional(),
  connections: z.int(),
  /** Each connection waits a random time up to twice this before each request, in milliseconds. */
  pauseMs: z.number().exactOptional(),
})
export type Load = Readonly<z.infer<typeof Load>>

const LoadResult = z.object({
  requestsPerSecond: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  /** Answers with a status of 400 and above, lost connections, and timeouts. */
  errors: z.number(),
})
export type LoadResult = Readonly<z.infer<typeof LoadResult>>

export type LoadGenerator = (url: string, load: Load, seconds: number) => Promise<LoadResult>

interface GeneratorOptions {
  readonly folder: string
  readonly cores: string | undefined
}

/** Sends loads with `wrk` if it is installed, otherwise with `autocannon`. */
export function createGenerator(options: GeneratorOptions): LoadGenerator {
  return (hasWrk() ? createWrk : createAutocannon)(options)
}

export function hasWrk(): boolean {
  return spawnSync('wrk', ['-v'], { stdio: 'ignore' }).error === undefined
}

/** Sends a load with `wrk`. It is written in C and leaves most of its core to PostgreSQL. */
function createWrk({ folder, cores }: GeneratorOptions): LoadGenerator {
  let runs = 0
  return async (url, load, seconds) => {
    // Use a separate file for each load, because two loads may run at the same time.
    const tokenFile = join(folder, `tokens-${++runs}.txt`)
    writeFileSync(tokenFile, (load.tokens ?? []).map((token) => `${token}\n`).join(''))
    const options = ['-t1', `-c${load.connections}`, `-d${seconds}s`, '--latency', '--timeout', '10s']
    const output = await runProgram({
      program: 'wrk',
      args: [...options, '-s', join(import.meta.dirname, 'load', 'requests.lua'), url],
      env: { PATH: process.env.PATH ?? '', ...describe(load, tokenFile) },
      cores,
    })
    return readWrkOutput(output)
  }
}

/** @throws Error unless the output contains the line of the script */
export function readWrkOutput(output: string): LoadResult {
  const line = /@@(\{.*\})@@/.exec(output)?.[1]
  if (line === undefined) throw new Error(`wrk has printed no result: ${output}`)
  return LoadResult.parse(JSON.parse(line))
}

function describe(load: Load, tokenFile: string): Record<string, string> {
  const headers = Object.entries(load.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  return {
    LOAD_METHOD: load.method,
    LOAD_PATH: load.path,
    LOAD_BODY: load.body ?? '',
    LOAD_HEADERS: headers.join('\n'),
    LOAD_TOKENS: load.tokens === undefined ? '' : tokenFile,
    LOAD_ID_MAX: String(load.idMax ?? 1),
    LOAD_PAUSE_MS: String(load.pauseMs ?? 0),
    LOAD_CHAIN: load.chain ?? '',
    // Lua numbers are exact up to 16 digits. Microseconds since 1970 leave room to count.
    LOAD_SEQUENCE: String(Date.now() * 1_000),
  }
}

/** Sends a load with `autocannon`. It needs its own core, so it shows lower write rates than `wrk`. */
export function createAutocannon({ folder, cores }: GeneratorOptions): LoadGenerator {
  let runs = 0
  return async (url, load, seconds) => {
    // Use a separate file for each load, because two loads may run at the same time.
    const loadFile = join(folder, `load-${++runs}.json`)
    writeFileSync(loadFile, JSON.stringify({ url, load, seconds }))
    const program = join(import.meta.dirname, 'load', 'autocannon-run.ts')
    const output = await runProgram({ program: process.execPath, args: [program, loadFile], cores })
    return LoadResult.parse(JSON.parse(output))
  }
}

/**
 * Sends one request of a load, so that a mistake causes an error message instead of a wrong result.
 * @throws Error with the answer if its status is not 2xx
 */
export async function tryLoad(url: string, load: Load): Promise<void> {
  const fill = (text: string) =>
    text
      .replaceAll('{token}', load.tokens?.[0] ?? '')
      .replaceAll('{id}', '1')
      .replaceAll('{sequence}', `trial-${process.hrtime.bigint()}`)
  const headers = Object.entries(load.headers ?? {}).map(([name, value]): [string, string] => [name, fill(value)])
  const response = await fetch(url + fill(load.path), {
    method: load.method,
    headers: { ...(load.body !== undefined && { 'content-type': 'application/json' }), ...Object.fromEntries(headers) },
    ...(load.body !== undefined && { body: fill(load.body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${load.method} ${url}${load.path} answers ${response.status}: ${text}`)
}

export interface Sample extends LoadResult {
  /**
   * The server's processor time per request, in microseconds. `undefined` if the system does not report it. Multiplied by the
   * rate, it is the used share of a core. If that is well below 1, something other than the processor is the limit.
   */
  readonly processorUs: number | undefined
}

/** Sends a load to one server and measures its processor time. */
export async function sample(server: Server, load: Load, generate: LoadGenerator, seconds: number): Promise<Sample> {
  const before = server.processorMs()
  const result = await generate(server.url, load, seconds)
  const after = server.processorMs()
  const requests = result.requestsPerSecond * seconds
  const isKnown = before !== undefined && after !== undefined && requests > 0
  return { ...result, processorUs: isKnown ? ((after - before) * 1_000) / requests : undefined }
}

/** Returns medians of the samples. Errors are summed, because even one error matters. */
export function summarize(samples: readonly Sample[]): Sample {
  const times = samples.flatMap(({ processorUs }) => processorUs ?? [])
  return {
    requestsPerSecond: median(samples.map(rateOf)),
    p50Ms: median(samples.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(samples.map(({ p99Ms }) => p99Ms)),
    errors: samples.reduce((sum, { errors }) => sum + errors, 0),
    processorUs: times.length === 0 ? undefined : median(times),
  }
}

export function rateOf({ requestsPerSecond }: LoadResult): number {
  return requestsPerSecond
}
