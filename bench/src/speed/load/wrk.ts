import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { runProgram } from '../../servers/run-program.ts'
import type { Load, LoadGenerator } from './load.ts'

const SCRIPT = join(import.meta.dirname, 'requests.lua')
const Result = z.object({ requestsPerSecond: z.number(), p50Ms: z.number(), p99Ms: z.number(), errors: z.number() })

/** The folder and the cores of the generator. */
export interface GeneratorOptions {
  readonly folder: string
  readonly cores: string | undefined
}

/** Whether `wrk` is installed. */
export function hasWrk(): boolean {
  return spawnSync('wrk', ['-v'], { stdio: 'ignore' }).error === undefined
}

/** Sends a load with `wrk`. It is written in C, and leaves most of its core to PostgreSQL. */
export function createWrk({ folder, cores }: GeneratorOptions): LoadGenerator {
  let runs = 0
  return async (url, load, seconds) => {
    // Each load has a file of its own, since two loads may run at a time.
    const tokenFile = join(folder, `tokens-${++runs}.txt`)
    writeFileSync(tokenFile, (load.tokens ?? []).map((token) => `${token}\n`).join(''))
    const options = ['-t1', `-c${load.connections}`, `-d${seconds}s`, '--latency', '--timeout', '10s']
    const output = await runProgram({
      program: 'wrk',
      args: [...options, '-s', SCRIPT, url],
      env: { PATH: process.env.PATH ?? '', ...describe(load, tokenFile) },
      cores,
    })
    return readWrkOutput(output)
  }
}

/** @throws Error unless the script has printed its line */
export function readWrkOutput(output: string): z.output<typeof Result> {
  const line = /@@(\{.*\})@@/.exec(output)?.[1]
  if (line === undefined) throw new Error(`wrk has printed no result: ${output}`)
  return Result.parse(JSON.parse(line))
}

/** The environment variables of the script. */
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
    // A double is exact up to 16 digits. The start value is the number of microseconds since 1970, which leaves room to count.
    LOAD_SEQUENCE: String(Date.now() * 1_000),
  }
}
