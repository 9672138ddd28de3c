import { defineError } from '@trestle/common/errors/define-error.ts'
import { expect, it } from 'vitest'
import { OPERATOR_ROLES, type OperatorRole } from './operator-roles.ts'
import { requireAction } from './operator-routes.ts'

const forbidden = defineError(403, 'FORBIDDEN', 'The role may not do this')

it.each<[Parameters<typeof requireAction>[1], readonly OperatorRole[]]>([
  ['stock.read', ['viewer', 'support', 'admin']],
  ['stock.receive', ['support', 'admin']],
  ['products.change', ['admin']],
])('lets these roles do %s: %j', (action, roles) => {
  const refused = OPERATOR_ROLES.filter((role) => !roles.includes(role))
  for (const role of roles) expect(() => requireAction(role, action, forbidden)).not.toThrow()
  for (const role of refused) {
    expect(() => requireAction(role, action, forbidden)).toThrow(forbidden({ details: { action, role } }))
  }
})

it.each(OPERATOR_ROLES)('refuses a route that no operator may call, whatever the role: %s', (role) => {
  expect(() => requireAction(role, undefined, forbidden)).toThrow(forbidden({ details: { role } }))
})
