import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { StackPlan } from '../settings/plan.ts'
import { writeEnvFile } from '../settings/service-environment.ts'
import { type StackStatus, statusFrom } from './stack-status.ts'

type DataPlan = Pick<StackPlan, 'dataDirectory'>

/**
 * The path of the file with the addresses and keys of the running stack. Programs may read it:
 * `node --env-file=.data/status.env`.
 */
export function statusFileOf({ dataDirectory }: DataPlan): string {
  return join(dataDirectory, 'status.env')
}

/** Writes the file, for its owner alone. The stack removes it when it stops. */
export function writeStatus(plan: DataPlan, status: StackStatus): void {
  writeEnvFile(statusFileOf(plan), status, () => true)
}

/** The status of the file. Undefined when there is none: the stack has not started yet, or has stopped. */
export function readStatus(plan: DataPlan): StackStatus | undefined {
  try {
    return statusFrom(parseEnv(readFileSync(statusFileOf(plan), 'utf8')))
  } catch {
    return undefined
  }
}

/** Removes the file, so that nobody takes a stopped stack for a running one. */
export function removeStatus(plan: DataPlan): void {
  rmSync(statusFileOf(plan), { force: true })
}
