import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { expect, it } from 'vitest'
import { operatorForbidden } from '../errors.ts'
import { requireAction } from './require-action.ts'

it.each<[Parameters<typeof requireAction>[1], readonly OperatorRole[]]>([
  ['stock.read', ['viewer', 'support', 'admin']],
  ['stock.receive', ['support', 'admin']],
  ['products.change', ['admin']],
])('lets these roles do %s: %j', (action, roles) => {
  const refused = OPERATOR_ROLES.filter((role) => !roles.includes(role))
  for (const role of roles) expect(() => requireAction(role, action)).not.toThrow()
  for (const role of refused) {
    expect(() => requireAction(role, action)).toThrow(operatorForbidden({ details: { action, role } }))
  }
})

it.each(OPERATOR_ROLES)('refuses a route that no operator may call, whatever the role: %s', (role) => {
  expect(() => requireAction(role, undefined)).toThrow(operatorForbidden({ details: { role } }))
})
