import { refuseCustomProvider } from '../external-accounts/find-owner.ts'
import { requireManualLinking } from '../external-accounts/sign-in.ts'
import { findCaller, requireIdentityOwner, requireLinkable } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'
import { type StartAuthorizationDeps, type StartAuthorizationInput, startAuthorization } from './start-authorization.ts'

/** Begins a sign-in at a provider, to link its identity to the caller's account (reference: Linking). */
export async function startLinking(
  deps: StartAuthorizationDeps,
  {
    caller,
    request,
  }: { readonly caller: TokenUser; readonly request: Omit<StartAuthorizationInput, 'inviteToken' | 'linking'> },
): Promise<string> {
  requireManualLinking(deps.config)
  const active = await findCaller(deps, caller)
  requireLinkable(active)
  if (request.provider) refuseCustomProvider({ provider: request.provider }, active.user)
  await requireIdentityOwner(deps.db, deps, active)
  const { user, session } = active
  const linking = { userId: user.id, sessionId: session?.id ?? null, aal: session?.aal ?? 'aal1' } as const
  return startAuthorization(deps, { ...request, inviteToken: undefined, linking })
}
