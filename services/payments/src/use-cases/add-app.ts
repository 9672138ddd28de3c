import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, requireOutcome, valuesOrNull } from '../access/require-access.ts'
import { unknownApp } from '../errors.ts'
import type { AppMember } from '../members/member.ts'
import { callAddApp } from '../members/member-repository.ts'

/** Makes an app a member of a merchant, with the same rights as all members (reference: Apps of a merchant). */
export async function addApp(
  { pools }: { readonly pools: Pools },
  {
    caller,
    merchantId,
    input,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly input: RequestInput<{ readonly appId: string }>
  },
): Promise<{ readonly app: Pick<AppMember, 'id' | 'name'>; readonly replayed: boolean }> {
  const appId = valuesOrNull(input)?.appId ?? null
  const added = await callAddApp(pools, { caller, merchantId, appId })
  const { outcome, replayed } = requireOutcome(caller, added, input)
  if (outcome.verdict === 'unknown-app') throw unknownApp()
  return { app: outcome.app, replayed }
}
