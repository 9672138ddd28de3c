import { accepts } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { OpenController } from '../plugins/inventory-controller.ts'

/** Answers 200 as long as the process answers at all. */
export class Default extends OpenController {
  static GET = accepts({
    returns: z.object({ status: z.literal('ok') }),
    summary: 'Check that the process answers',
    tags: ['service'],
  })
  GET() {
    return { status: 'ok' }
  }
}
