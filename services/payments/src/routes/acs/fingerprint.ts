import { z } from 'zod'
import { valuesOrNull } from '../../access/require-access.ts'
import { decryptFingerprintState } from '../../checkout/challenge.ts'
import { errorAnswersWithoutLimit, pageAnswers } from '../../error-body.ts'
import { concludingPage, lostPage, silentPage } from '../../pages/bank-page.ts'
import { choosePageLocale } from '../../pages/locale.ts'
import { pageHeaders } from '../../pages/page.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { CIPHERTEXT_PATTERN } from '../../vault/encryption.ts'

/** Serves the hidden frame of a fingerprint. The frame sends its hint immediately or never (reference: Tasks). */
export const fingerprintRoutes: Routes = async (app) => {
  app.post(
    '/acs/fingerprint',
    {
      schema: {
        operationId: 'takeFingerprint',
        tags: ['Pages'],
        summary: 'Show the hidden frame of a fingerprint',
        security: [],
        body: z.object({ state: z.string().meta({ pattern: CIPHERTEXT_PATTERN }) }),
        response: { ...pageAnswers(200, 400), ...errorAnswersWithoutLimit(413) },
      },
    },
    (request, reply) => {
      const state = decryptFingerprintState(app.deps.ciphers.frames, valuesOrNull(request.body)?.state ?? '')
      reply.headers(pageHeaders({ frameAncestors: '*' }))
      const locale = choosePageLocale(null, request.headers['accept-language'])
      if (!state) return reply.code(400).send(lostPage(locale))
      return reply.send(state.hint === null ? silentPage(locale) : concludingPage([state.hint], state.origin, locale))
    },
  )
}
