import { accepts } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { serviceUnavailable } from '../errors.ts'
import { OpenController } from '../plugins/inventory-controller.ts'
import { VERSION } from '../version.ts'

const Service = z.object({ name: z.string(), version: z.string(), docs: z.string() })

/** / */
export class Default extends OpenController {
  static GET = accepts({ returns: Service, summary: 'Name and version of this service', tags: ['service'] })
  GET(): z.output<typeof Service> {
    return { name: 'inventory', version: VERSION, docs: '/docs' }
  }
}

/** /health */
export class Health extends OpenController {
  static GET = accepts({
    returns: z.object({ status: z.literal('ok') }),
    summary: 'Whether the process answers',
    tags: ['service'],
  })
  GET() {
    return { status: 'ok' }
  }
}

/** /ready */
export class Ready extends OpenController {
  static GET = accepts({ hidden: true })
  async GET() {
    const missing = await this.application.context.readiness.missing()
    if (missing !== undefined) throw serviceUnavailable({ message: missing })
    return { status: 'ready' }
  }
}
