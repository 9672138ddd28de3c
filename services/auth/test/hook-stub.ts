import { randomBytes } from 'node:crypto'
import { type StubAnswer, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { Webhook } from 'standardwebhooks'
import type { HookName } from '../src/config/hooks.ts'
import { hookMessages } from '../src/openapi-hooks.ts'

/** A request to a hook. */
export interface HookCall {
  readonly name: string
  readonly id: string
  readonly payload: Record<string, unknown>
}

/** The operator's server. It verifies every signature with the library of Standard Webhooks. */
export interface HookStub {
  /** The settings of a service with these hooks enabled. */
  settings(...names: readonly HookName[]): Readonly<Record<string, string>>
  readonly calls: readonly HookCall[]
  /** The calls of one hook. */
  callsOf(name: HookName): readonly HookCall[]
  /** The answer of the hooks from now on. With `undefined`, they never answer. */
  answer: (call: HookCall) => StubAnswer | undefined | Promise<StubAnswer | undefined>
  /** Closes the server. @throws Error if a call did not match the API document */
  close(): Promise<void>
}

/** The answer of a hook without a decision. */
export const NOTHING: StubAnswer = { body: {} }

/** Starts a server of hooks on loopback. It verifies the signature of each call. */
export async function startHookStub(): Promise<HookStub> {
  const keys = [randomBytes(32), randomBytes(24)].map((key) => key.toString('base64'))
  const webhooks = keys.map((key) => new Webhook(key))
  const calls: HookCall[] = []
  const undocumented: string[] = []
  const peer = await startStubProvider(({ url, headers, body }) => {
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const
    const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]))
    // The old or the new key verifies the signature.
    for (const webhook of webhooks) webhook.verify(body, signed)
    const call = { name: url.slice(1), id: String(headers['webhook-id']), payload: JSON.parse(body) }
    calls.push(call)
    const problem = findProblem(call)
    if (problem !== undefined) undocumented.push(`${call.name}: ${problem}`)
    return stub.answer(call)
  })
  const stub: HookStub = {
    settings: (...names) =>
      Object.fromEntries(
        names.flatMap((name) => [
          [`AUTH_HOOK_${name}_ENABLED`, 'true'],
          [`AUTH_HOOK_${name}_URI`, `${peer.url}/${name}`],
          [`AUTH_HOOK_${name}_SECRETS`, keys.map((key) => `v1,whsec_${key}`).join('|')],
        ]),
      ),
    calls,
    callsOf: (name) => calls.filter((call) => call.name === name),
    answer: () => NOTHING,
    close: async () => {
      await peer.close()
      if (undocumented.length > 0) throw new Error(`calls that the API document does not describe: ${undocumented}`)
    },
  }
  return stub
}

function findProblem({ name, payload }: HookCall): string | undefined {
  const [, message] = Object.entries(hookMessages).find(([hook]) => hook === name) ?? []
  return message === undefined ? 'not documented' : message.payload.safeParse(payload).error?.message
}
