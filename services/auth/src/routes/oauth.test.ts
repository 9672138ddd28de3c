import { expect, it } from 'vitest'
import { errorBody } from '../../test/bodies.ts'
import { answersOf } from '../../test/refused-feature.ts'
import { oauthRoutes } from './oauth.ts'

it('404: refuses clients of an OAuth server before the body is read', async () => {
  const refused = [404, errorBody(404, 'feature_disabled', 'OAuth server is disabled')]
  expect(await answersOf(oauthRoutes, ['/oauth', '/oauth/token'])).toEqual([refused, refused])
})
