import { expect, it } from 'vitest'
import { errorBody } from '../../test/bodies.ts'
import { answersOf } from '../../test/refused-feature.ts'
import { ssoRoutes } from './sso.ts'

it('404: refuses SAML before the body is read', async () => {
  const refused = [404, errorBody(404, 'saml_provider_disabled', 'SAML 2.0 is disabled')]
  expect(await answersOf(ssoRoutes, ['/sso', '/sso/saml/acs'])).toEqual([refused, refused])
})
