import { answerReady } from '@trestle/common/lifecycle/readiness.ts'
import { accepts } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { notReady } from '../errors.ts'
import { OpenController } from '../plugins/inventory-controller.ts'

/** Answers whether the process can serve requests. */
export class Default extends OpenController {
  static GET = accepts({
    returns: z.object({ status: z.literal('ready') }),
    responses: { 503: 'The process is starting or stopping, or its database is unavailable' },
    summary: 'Check that the process should get requests',
    tags: ['service'],
  })
  async GET() {
    return answerReady(this.application.context.readiness, notReady)
  }
}
