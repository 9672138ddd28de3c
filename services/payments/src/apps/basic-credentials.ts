/**
 * The API key in an `Authorization` header: Basic, an empty user name, the key as password. Undefined for anything else
 * (reference: API keys). @see RFC 7617
 */
export function readBasicKey(header: string | undefined): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return undefined
  const decoded = Buffer.from(encoded, 'base64')
  // Buffer ignores what is not base64; encoding back tells whether it ignored anything but missing padding.
  if (decoded.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, '')) return undefined
  const credentials = decoded.toString('utf8')
  return credentials.startsWith(':') && credentials.length > 1 ? credentials.slice(1) : undefined
}
