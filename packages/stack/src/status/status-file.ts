import { readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { dataDirectoryOf, readUserEnvironment } from '../settings/environment.ts'
import type { StackPlan } from '../settings/plan.ts'
import { usualPort } from '../settings/ports.ts'
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

const root = join(import.meta.dirname, '..', '..', '..', '..')
const CONNECT_MS = 2_000

const portSettings = {
  AUTH_URL: 'AUTH_API_PORT',
  PAYMENTS_URL: 'PAYMENTS_PORT',
  INVENTORY_URL: 'INVENTORY_PORT',
  MAIL_URL: 'MAIL_WEB_PORT',
} as const

/** A variable that names the address of a part of the stack. */
type AddressName = keyof typeof portSettings

/**
 * The address of a part of the stack, for examples: the variable of that name, else what the running stack of this checkout says,
 * else the usual port of this machine. Ends the process with one line when nothing listens there.
 */
export async function findAddress(name: AddressName): Promise<string> {
  const url = process.env[name] || findStatus()?.[name] || `http://localhost:${usualPort(portSettings[name])}`
  if (await isListening(new URL(url))) return url.replace(/\/$/, '')
  process.stderr.write(`Nothing answers at ${url}. Start the stack first: npm start (or set ${name}).\n`)
  process.exit(1)
}

/** The folder of the data of the stack of this checkout, as `npm start` finds it. */
export function findDataDirectory(): string {
  return dataDirectoryOf(root, readUserEnvironment(join(root, '.env'), process.env))
}

/** The status of the stack that runs in this checkout. Undefined when none does. */
function findStatus(): StackStatus | undefined {
  return readStatus({ dataDirectory: findDataDirectory() })
}

function isListening({ hostname, port, protocol }: URL): Promise<boolean> {
  return new Promise((done) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80), timeout: CONNECT_MS })
    const end = (is: boolean) => {
      socket.destroy()
      done(is)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
