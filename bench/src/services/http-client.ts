/** @throws Error with the answer when its status is not 2xx. */
export async function request(url: string, options: RequestInit = {}): Promise<{ body: unknown; headers: Headers }> {
  const response = await fetch(url, options)
  const text = await response.text()
  if (!response.ok) throw new Error(`${options.method ?? 'GET'} ${url} answers ${response.status}: ${text}`)
  return { body: JSON.parse(text), headers: response.headers }
}

/** Posts JSON and reads the answer. @throws Error with the answer when its status is not 2xx. */
export async function post(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return answer.body
}
