import type { Operator } from '@trestle/operators/operator.ts'
import type { Identity } from './token-verifier.ts'

/** The operator who sends a request. */
export interface OperatorIdentity extends Pick<Identity, 'actor'> {
  readonly operator: Operator
}

/** The `sub` of the request's token; null when authentication is off. */
export function actorOf({ identity }: { readonly identity: unknown }): string | null {
  return isIdentity(identity) ? identity.actor : null
}

/** The operator of a request. @throws Error for a request that no guard has recognized as an operator's */
export function operatorOf({ identity }: { readonly identity: unknown }): Operator {
  if (!isOperatorIdentity(identity)) throw new Error('the request has no operator')
  return identity.operator
}

/** The operator of a request; undefined for one of another client. */
export function findOperator({ identity }: { readonly identity: unknown }): Operator | undefined {
  return isOperatorIdentity(identity) ? identity.operator : undefined
}

function isIdentity(value: unknown): value is Pick<Identity, 'actor'> {
  return typeof value === 'object' && value !== null && 'actor' in value && typeof value.actor === 'string'
}

function isOperatorIdentity(value: unknown): value is OperatorIdentity {
  return isIdentity(value) && 'operator' in value && typeof value.operator === 'object' && value.operator !== null
}
