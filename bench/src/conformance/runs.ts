import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Rig, type RigOptions, startRig } from '../fuzz/rig.ts'
import type { Target } from '../fuzz/target.ts'
import { authTarget } from '../fuzz/targets/auth.ts'
import { inventoryTarget } from '../fuzz/targets/inventory.ts'
import { paymentsTarget } from '../fuzz/targets/payments.ts'
import { type Report, readReport } from './failures.ts'
import type { OperationSettings, Tools } from './tools.ts'

/** A run of requests to one service, with or without the credentials of an actor. */
export interface ConformanceRun {
  readonly service: string
  readonly name: string
  readonly target: Target
  /** The credentials of the requests. `undefined` for none. */
  readonly role: 'own' | 'privileged' | undefined
  /** Operations that would revoke access for other operations or delete their objects. Each group has its own actor. */
  readonly apart: readonly (readonly string[])[]
  /** Operations that create an object with a new id, because the ids of the actor are in use. */
  readonly withNewIds: readonly string[]
  /** The kind of the id in a path parameter, if the name of the parameter does not say so. */
  readonly idKinds: Readonly<Record<string, string>>
  /** Values of other parameters that depend on the service's settings, such as `query.provider`. */
  readonly values: Readonly<Record<string, string>>
}

const none = { name: 'none', role: undefined, apart: [], withNewIds: [], idKinds: {}, values: {} } as const

/** Only the page of a link sends forms to POST /verify, and only in this mode. */
const authWithForms: Target = {
  ...authTarget,
  surround: async (stack) => {
    const { env, prepare } = await authTarget.surround(stack)
    return { env: { ...env, AUTH_MAILER_LINK_MODE: 'confirm' }, prepare }
  },
}

const auth = {
  ...none,
  service: 'auth',
  target: authWithForms,
  values: { 'header.X-JWT-AUD': 'authenticated', 'query.provider': 'keycloak' },
} as const

/** Each service, without credentials and with each kind of credentials. */
export const runs: readonly ConformanceRun[] = [
  auth,
  {
    ...auth,
    name: 'user',
    role: 'own',
    apart: [
      ['POST /logout'],
      ['PUT /user', 'DELETE /user/identities/{identityId}'],
      [
        ...['DELETE /factors/{factorId}', 'DELETE /passkeys/{passkeyId}'],
        ...['POST /factors/recovery-codes', 'DELETE /factors/recovery-codes'],
      ],
    ],
  },
  {
    ...auth,
    name: 'admin',
    role: 'privileged',
    apart: [
      ['DELETE /admin/users/{userId}'],
      ['DELETE /admin/users/{userId}/factors/{factorId}', 'DELETE /admin/users/{userId}/passkeys/{passkeyId}'],
      ['DELETE /admin/custom-providers/{identifier}'],
    ],
    withNewIds: ['POST /admin/users/{userId}'],
  },
  { ...none, service: 'inventory', target: inventoryTarget },
  {
    ...none,
    service: 'inventory',
    name: 'token',
    target: inventoryTarget,
    role: 'own',
    apart: [['DELETE /products/{productId}', 'DELETE /locations/{locationId}', 'DELETE /reservations/{reservationId}']],
  },
  { ...none, service: 'payments', target: paymentsTarget },
  {
    ...none,
    service: 'payments',
    name: 'key',
    target: paymentsTarget,
    role: 'own',
    apart: [
      [
        ...['DELETE /merchants/{merchantId}/apps/{appId}', 'DELETE /merchants/{merchantId}/users/{userId}'],
        'DELETE /merchants/{merchantId}/webhooks/{webhookId}',
      ],
      ['DELETE /me/keys/{keyId}'],
    ],
    idKinds: { identityId: 'appId' },
  },
]

export interface Workplace extends RigOptions {
  readonly tools: Tools
  readonly seed: number
  readonly examples: number
}

export interface RunReport extends Report {
  /** Operations with a body but without an example in the document. */
  readonly withoutExample: readonly string[]
}

/** Starts a service with an empty database and prepared actors, and sends it requests made from its document. */
export async function tryRun(run: ConformanceRun, document: string, workplace: Workplace): Promise<RunReport> {
  const { database, tools, seed, examples } = workplace
  await using stack = new AsyncDisposableStack()
  const folder = join(workplace.folder, `${run.service}-${run.name}`)
  mkdirSync(folder)
  const rig = await startRig(run.target, { folder, database }, stack)
  await rig.ready.refresh()
  const operations = rig.document.operations.map(({ name, parameters }) => {
    const inPath = parameters.flatMap((each) => (each.in === 'path' ? [each.name] : []))
    return settingsOf(run, rig, name, inPath)
  })
  await tools.schemathesis({ document, url: rig.url, folder, operations, seed, examples })
  const report = await readReport(join(folder, 'report.ndjson'))
  const withBody = rig.document.operations.filter(({ bodies }) => Object.keys(bodies).length > 0)
  const withoutExample = withBody.map(({ name }) => name).filter((name) => !report.withExample.has(name))
  return { ...report, withoutExample }
}

/** The credentials of an operation, and the ids of an actor's objects for its path. */
function settingsOf(
  { role, apart, withNewIds, idKinds, values }: ConformanceRun,
  { ready, memory }: Pick<Rig, 'ready' | 'memory'>,
  name: string,
  parameters: readonly string[],
): OperationSettings {
  const actor = apart.findIndex((group) => group.includes(name)) + 1
  const headers = role === undefined ? {} : ready.authorize(role, actor)
  const ids = withNewIds.includes(name) ? [] : parameters
  const known = ids.flatMap((each) => {
    const id = memory.pick(actor, idKinds[each] ?? each, 1)
    return typeof id === 'string' || typeof id === 'number' ? [[`path.${each}`, id] as const] : []
  })
  return { name, headers, values: { ...values, ...Object.fromEntries(known) } }
}
