import type { AuthDeps } from '../deps.ts'
import { manualLinkingDisabled } from '../errors.ts'
import type { Caller } from '../sessions/caller.ts'
import { findCaller } from './find-caller.ts'
import { requireIdentityOwner } from './require-identity-owner.ts'
import { type StartAuthorization, startAuthorization } from './start-authorization.ts'

export interface StartLinking {
  readonly caller: Caller
  readonly wish: Omit<StartAuthorization, 'inviteToken' | 'linking'>
}

/** Begins a sign-in whose account is added to the caller's. @throws manualLinkingDisabled, identitiesNeedSecondFactor, and what a sign-in throws */
export async function startLinking(deps: AuthDeps, { caller, wish }: StartLinking): Promise<string> {
  if (!deps.config.security.manualLinkingEnabled) throw manualLinkingDisabled()
  const active = await findCaller(deps, caller)
  await requireIdentityOwner(deps.db, deps, active)
  const linking = {
    userId: active.user.id,
    sessionId: active.session?.id ?? null,
    aal: active.session?.aal ?? 'aal1',
  } as const
  return startAuthorization(deps, { ...wish, inviteToken: undefined, linking })
}
