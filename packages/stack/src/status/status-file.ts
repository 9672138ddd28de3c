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
 * Returns the path of the file with the addresses and keys of the running stack. Programs may read it: `node
 * --env-file=.data/status.env`.
 */
export function statusFileOf({ dataDirectory }: DataPlan): string {
  return join(dataDirectory, 'status.env')
}

/** Writes the file. Only the owner may read it. The stack removes it when it stops. */
export function writeStatus(plan: DataPlan, status: StackStatus): void {
  writeEnvFile(statusFileOf(plan), status, () => true)
}

/** Reads the status file. Returns `undefined` if it does not exist, because the stack does not run. */
export function readStatus(plan: DataPlan): StackStatus | undefined {
  try {
    return statusFrom(parseEnv(readFileSync(statusFileOf(plan), 'utf8')))
  } catch {
    return undefined
  }
}

/** Removes the file, so that a stopped stack is not mistaken for a running stack. */
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

type AddressName = keyof typeof portSettings

/**
 * Returns the address of a part of the stack, for examples. Uses the variable with that name, otherwise the status of the stack
 * in this checkout, otherwise the usual port on this machine. Prints one line and ends the process if no program listens there.
 */
export async function findAddress(name: AddressName): Promise<string> {
  const url = process.env[name] || findStatus()?.[name] || `http://localhost:${usualPort(portSettings[name])}`
  if (await isListening(new URL(url))) return url.replace(/\/$/, '')
  process.stderr.write(`Nothing answers at ${url}. Start the stack first: npm start (or set ${name}).\n`)
  process.exit(1)
}

/** Returns the data folder of the stack in this checkout, as `npm start` finds it. */
export function findDataDirectory(): string {
  return dataDirectoryOf(root, readUserEnvironment(join(root, '.env'), process.env))
}

/** Returns the status of the stack that runs in this checkout, or `undefined` if none is running. */
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
