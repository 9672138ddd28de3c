import { expect, it } from 'vitest'
import { LocationBody } from './location-form.ts'

it('keeps the name of a location as it is, with blanks around it, so that a form sent as it came renames nothing', () => {
  const { code, name, active } = LocationBody.parse({ _csrf: 'c', _key: 'k', code: ' VAN ', name: ' The van\u00a0' })
  expect([code, name, active]).toEqual(['VAN', ' The van\u00a0', false])
})
