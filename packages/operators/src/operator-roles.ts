/** The roles of operators, from the lowest to the highest. Each role includes the rights of the roles before it. */
export const OPERATOR_ROLES = ['viewer', 'support', 'admin'] as const
/** The role of an operator (console reference: Roles). */
export type OperatorRole = (typeof OPERATOR_ROLES)[number]

/** Every action of an operator, in any service, with the lowest role that is allowed to do it (console reference: Actions). */
export const OPERATOR_ACTIONS = {
  'operators.identify': 'viewer',
  'overview.read': 'viewer',
  'audit.read': 'viewer',
  'settings.read': 'viewer',
  'users.read': 'viewer',
  'messages.read': 'viewer',
  'merchants.read': 'viewer',
  'transactions.read': 'viewer',
  'disputes.read': 'viewer',
  'payouts.read': 'viewer',
  'exceptions.read': 'viewer',
  'deliveries.read': 'viewer',
  'apps.read': 'viewer',
  'tasks.read': 'viewer',
  'products.read': 'viewer',
  'stock.read': 'viewer',
  'imports.read': 'viewer',
  'users.invite': 'support',
  'users.confirm': 'support',
  'users.ban': 'support',
  'sessions.end': 'support',
  'messages.resend': 'support',
  'transactions.refund': 'support',
  'deliveries.replay': 'support',
  'stock.receive': 'support',
  'stock.count': 'support',
  'stock.transfer': 'support',
  'reservations.release': 'support',
  'users.create': 'admin',
  'users.change': 'admin',
  'users.delete': 'admin',
  'users.assign-role': 'admin',
  'users.sign-in-as': 'admin',
  'factors.reset': 'admin',
  'users.secure': 'admin',
  'signing-keys.manage': 'admin',
  'transactions.capture': 'admin',
  'transactions.void': 'admin',
  'transactions.refund-beyond-limits': 'admin',
  'payouts.run': 'admin',
  'payouts.export': 'admin',
  'payouts.close': 'admin',
  'attempts.resolve': 'admin',
  'exceptions.resolve': 'admin',
  'disputes.open': 'admin',
  'disputes.close': 'admin',
  'tasks.retry': 'admin',
  'merchants.price': 'admin',
  'merchants.advance-clock': 'admin',
  'apps.revoke-keys': 'admin',
  'registration.change': 'admin',
  'products.change': 'admin',
  'products.delete': 'admin',
  'products.import': 'admin',
  'locations.change': 'admin',
  'stock.ship': 'admin',
  'stock.adjust': 'admin',
} as const satisfies Readonly<Record<string, OperatorRole>>

/** The name of an action, such as `transactions.refund`. */
export type OperatorAction = keyof typeof OPERATOR_ACTIONS

export function mayDo(role: OperatorRole, action: OperatorAction): boolean {
  return OPERATOR_ROLES.indexOf(role) >= OPERATOR_ROLES.indexOf(OPERATOR_ACTIONS[action])
}

export function lowerRole(one: OperatorRole, other: OperatorRole): OperatorRole {
  return OPERATOR_ROLES.indexOf(one) < OPERATOR_ROLES.indexOf(other) ? one : other
}
