import type { Lanes } from '@trestle/database/lanes.ts'
import type { Caller } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import { unknownApp } from '../errors.ts'
import type { AppMember } from '../members/member.ts'
import { callAddApp } from '../members/member-repository.ts'

/** A new member; `appId` is null when the body was refused. */
export interface AddAppRequest {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly merchantId: string
  readonly appId: string | null
}

/**
 * Makes an app a member of a merchant, with the same rights as all members.
 * @throws unknownApp when no app has the id, and what `requireAccess` throws
 */
export async function addApp(
  { lanes }: { readonly lanes: Lanes },
  { caller, problem, merchantId, appId }: AddAppRequest,
): Promise<{ readonly app: Pick<AppMember, 'id' | 'name'>; readonly replayed: boolean }> {
  const { app, verdict } = requireAccess(caller, await callAddApp(lanes, { caller, merchantId, appId }), problem)
  if (!app) throw unknownApp()
  return { app, replayed: verdict === 'replayed' }
}
