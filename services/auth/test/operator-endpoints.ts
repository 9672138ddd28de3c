import type { OperatorAction } from '@trestle/operators/operator-roles.ts'

/** A route of operators, with a valid body. */
export interface OperatorEndpoint {
  /** The name as in the API document, such as `put /operator/users/{userId}/ban`. */
  readonly name: string
  readonly action: OperatorAction
  readonly body?: object
}

/** Every route of operators (console reference: Routes of auth). */
export const operatorEndpoints: readonly OperatorEndpoint[] = [
  { name: 'get /operator/me', action: 'operators.identify' },
  { name: 'put /operator/users/{userId}/ban', action: 'users.ban', body: { duration: '24h' } },
  { name: 'delete /operator/users/{userId}/ban', action: 'users.ban' },
  { name: 'get /operator/users', action: 'users.read' },
  { name: 'get /operator/users/{userId}/sessions', action: 'users.read' },
  { name: 'delete /operator/users/{userId}/sessions', action: 'sessions.end' },
  { name: 'delete /operator/users/{userId}/sessions/{sessionId}', action: 'sessions.end' },
  { name: 'post /operator/users', action: 'users.create', body: { email: 'made@example.com', email_confirm: true } },
  { name: 'put /operator/users/{userId}', action: 'users.change', body: { phone: '4520304051' } },
  { name: 'delete /operator/users/{userId}', action: 'users.delete' },
  { name: 'post /operator/users/{userId}/confirmation', action: 'users.confirm', body: { kind: 'email' } },
  { name: 'put /operator/users/{userId}/console-role', action: 'users.assign-role', body: { role: 'viewer' } },
  { name: 'delete /operator/users/{userId}/factors/{factorId}', action: 'factors.reset' },
  { name: 'post /operator/users/{userId}/secure', action: 'users.secure', body: { since: '2026-01-02T03:04:05Z' } },
  { name: 'post /operator/users/invitations', action: 'users.invite', body: { email: 'asked@example.com' } },
  { name: 'get /operator/audit', action: 'audit.read' },
  { name: 'get /operator/users/{userId}', action: 'users.read' },
  { name: 'get /operator/messages', action: 'messages.read' },
  { name: 'post /operator/messages/{messageId}/resend', action: 'messages.resend' },
  { name: 'post /operator/users/{userId}/sign-in-link', action: 'users.sign-in-as', body: { reason: 'Ticket 4711' } },
  { name: 'get /operator/overview', action: 'overview.read' },
  { name: 'get /operator/settings', action: 'settings.read' },
  { name: 'get /operator/keys', action: 'settings.read' },
  { name: 'post /operator/keys', action: 'signing-keys.manage', body: { algorithm: 'EdDSA' } },
  { name: 'post /operator/keys/{kid}/promotion', action: 'signing-keys.manage' },
  { name: 'delete /operator/keys/{kid}', action: 'signing-keys.manage' },
]
