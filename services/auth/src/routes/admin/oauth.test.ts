import { expect, it } from 'vitest'
import { errorBody } from '../../../test/bodies.ts'
import { answersOf } from '../../../test/refused-feature.ts'
import { adminOauthRoutes } from './oauth.ts'

it('404: refuses the administration of OAuth clients before the body is read', async () => {
  const refused = [404, errorBody(404, 'feature_disabled', 'OAuth server is disabled')]
  expect(await answersOf(adminOauthRoutes, ['/admin/oauth', '/admin/oauth/clients'])).toEqual([refused, refused])
})
