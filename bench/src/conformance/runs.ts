import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Rig, type RigOptions, startRig } from '../fuzz/rig.ts'
import type { Target } from '../fuzz/target.ts'
import { authTarget } from '../fuzz/targets/auth.ts'
import { inventoryTarget } from '../fuzz/targets/inventory.ts'
import { paymentsTarget } from '../fuzz/targets/payments.ts'
import { type Report, readReport } from './failures.ts'
import type { Tools } from './tools.ts'

/** Who sends the requests of a run. */
export interface ConformanceRun {
  readonly service: string
  /** Unique within the service. */
  readonly name: string
  readonly target: Target
  /** Headers of every request. */
  readonly headersOf: (rig: Pick<Rig, 'ready'>) => Readonly<Record<string, string>>
  /** Operations that would end the access of the run. The other runs send them. */
  readonly without: readonly string[]
}

const noHeaders = () => ({})
const own: ConformanceRun['headersOf'] = ({ ready }) => ready.authorize('own', 0)
const privileged: ConformanceRun['headersOf'] = ({ ready }) => ready.authorize('privileged', 0)

/** Each service without credentials, and with each kind of them. */
export const runs: readonly ConformanceRun[] = [
  { service: 'auth', name: 'none', target: authTarget, headersOf: noHeaders, without: [] },
  { service: 'auth', name: 'user', target: authTarget, headersOf: own, without: ['POST /logout'] },
  { service: 'auth', name: 'admin', target: authTarget, headersOf: privileged, without: [] },
  { service: 'inventory', name: 'none', target: inventoryTarget, headersOf: noHeaders, without: [] },
  { service: 'inventory', name: 'token', target: inventoryTarget, headersOf: own, without: [] },
  { service: 'payments', name: 'none', target: paymentsTarget, headersOf: noHeaders, without: [] },
  {
    service: 'payments',
    name: 'key',
    target: paymentsTarget,
    headersOf: own,
    without: ['DELETE /merchants/{merchantId}/apps/{appId}', 'DELETE /me/keys/{keyId}'],
  },
]

/** What all runs work with. */
export interface Workplace extends RigOptions {
  readonly tools: Tools
  readonly seed: number
  readonly examples: number
}

/** Starts a service with an empty database and prepared actors, and sends it requests made from its document. */
export async function tryRun(run: ConformanceRun, document: string, workplace: Workplace): Promise<Report> {
  const { checkout, database, tools, seed, examples } = workplace
  await using stack = new AsyncDisposableStack()
  const folder = join(workplace.folder, `${run.service}-${run.name}`)
  mkdirSync(folder)
  const rig = await startRig(run.target, { checkout, folder, database }, stack)
  await rig.ready.refresh()
  const report = join(folder, 'report.ndjson')
  const { without } = run
  await tools.schemathesis({ document, url: rig.url, report, headers: run.headersOf(rig), without, seed, examples })
  return readReport(report)
}
