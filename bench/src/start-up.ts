import { setTimeout as delay } from 'node:timers/promises'
import type { Deployment, StartOptions } from './deployment.ts'
import { median } from './statistics.ts'

/** How a service starts: medians. */
export interface StartUpResult {
  /** From the start of the process to the first 200 of /health. */
  readonly healthMs: number
  /** The same of /ready. */
  readonly readyMs: number
  /** A second after it was ready; undefined where the system does not say. */
  readonly idleMib: number | undefined
}

const SETTLE_MS = 1_000

/** Starts and stops the service several times. */
export async function measureStartUp(
  deployment: Deployment,
  options: StartOptions,
  times: number,
): Promise<StartUpResult> {
  const starts: { readonly startMs: readonly number[]; readonly idleMib: number | undefined }[] = []
  for (let count = 0; count < times; count++) {
    const server = await deployment.start(options)
    await delay(SETTLE_MS)
    starts.push({ startMs: server.startMs, idleMib: server.residentMib() })
    await server.stop()
  }
  const idle = starts.flatMap(({ idleMib }) => idleMib ?? [])
  return {
    healthMs: median(starts.map(({ startMs }) => startMs[0] ?? Number.NaN)),
    readyMs: median(starts.map(({ startMs }) => startMs[1] ?? Number.NaN)),
    idleMib: idle.length === 0 ? undefined : median(idle),
  }
}
