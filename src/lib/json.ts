/**
 * JSON in canonical form (RFC 8785, JCS): equal values give equal text. As with `JSON.stringify`, undefined fields are
 * left out, an undefined item of an array becomes null, and the result for undefined itself is undefined.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  let members = ''
  for (const name of Object.keys(value).sort()) {
    const member = value[name]
    if (member === undefined) continue
    if (members !== '') members += ','
    members += `${JSON.stringify(name)}:${canonicalJson(member)}`
  }
  return `{${members}}`
}

/**
 * The paths of the fields in which two JSON values differ, such as `customer.email`. An array counts as one value:
 * `items`. The values themselves, which may be personal data, are never returned.
 */
export function differingPaths(left: unknown, right: unknown, path = ''): string[] {
  if (!isObject(left) || !isObject(right)) return canonicalJson(left) === canonicalJson(right) ? [] : [path]
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort()
  // Own properties only: a field may be named `__proto__` or `constructor`.
  const own = (object: Record<string, unknown>, name: string) =>
    Object.hasOwn(object, name) ? object[name] : undefined
  return names.flatMap((name) =>
    differingPaths(own(left, name), own(right, name), path === '' ? name : `${path}.${name}`),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
