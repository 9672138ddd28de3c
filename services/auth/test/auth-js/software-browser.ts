import { type AskedOptions, createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { vi } from 'vitest'

/** Options in the form of a browser: bytes instead of base64url. */
interface BrowserOptions {
  readonly publicKey: {
    readonly challenge: ArrayBuffer
    readonly rp?: { readonly id?: string }
    readonly rpId?: string
    readonly user?: { readonly id: ArrayBuffer }
    readonly excludeCredentials?: readonly { readonly id: ArrayBuffer }[]
    readonly allowCredentials?: readonly { readonly id: ArrayBuffer }[]
  }
}

const toText = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('base64url')
const toDescriptors = (list: readonly { readonly id: ArrayBuffer }[]) => list.map(({ id }) => ({ id: toText(id) }))

function toAsked({ publicKey }: BrowserOptions): AskedOptions {
  const { challenge, rp, rpId, user, excludeCredentials, allowCredentials } = publicKey
  return {
    challenge: toText(challenge),
    ...(rp && { rp }),
    ...(rpId !== undefined && { rpId }),
    ...(user && { user: { id: toText(user.id) } }),
    ...(excludeCredentials && { excludeCredentials: toDescriptors(excludeCredentials) }),
    ...(allowCredentials && { allowCredentials: toDescriptors(allowCredentials) }),
  }
}

/** Simulates a page at an origin with an authenticator in this process, until `vi.unstubAllGlobals`. */
export function pretendToBeBrowser(origin: string): void {
  const authenticator = createAuthenticator(origin)
  class PublicKeyCredential {
    readonly json: object
    constructor(json: object) {
      this.json = json
    }
    toJSON() {
      return this.json
    }
  }
  const credentials = {
    create: async (options: BrowserOptions) => new PublicKeyCredential(authenticator.create(toAsked(options))),
    get: async (options: BrowserOptions) => new PublicKeyCredential(authenticator.get(toAsked(options))),
  }
  const { hostname, href } = new URL(origin)
  vi.stubGlobal('PublicKeyCredential', PublicKeyCredential)
  vi.stubGlobal('window', { PublicKeyCredential, location: { hostname, href, origin }, addEventListener: () => {} })
  vi.stubGlobal('document', { visibilityState: 'visible' })
  vi.stubGlobal('navigator', { credentials })
}
