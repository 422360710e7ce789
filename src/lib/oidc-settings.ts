/** Who has this value in the roles claim gets this role. If several rules match, the first of the setting applies. */
export type RoleRule = {
  value: string
  role: string
  /** An API client of the merchant; null: the role is the operator's. */
  clientId: string | null
}

/** The OpenID Connect provider at which people sign in to the dashboard. */
export type OidcSettings = Readonly<{
  issuer: string
  clientId: string
  clientSecret: string
  scopes: string
  /** The name of the claim, or its path, such as `realm_access.roles`. */
  rolesClaim: string
  rules: readonly RoleRule[]
  /** How the sign-in page names the provider. */
  name: string
  /** Nobody signs in with a password. */
  isOnly: boolean
  /** The provider requires a second factor of everybody, so its tokens need not name it. */
  isSecondFactorTrusted: boolean
  /** Requested of the provider. Each of them counts as a sign-in with a second factor. */
  acrValues: readonly string[]
}>

const operatorRoles = ['admin', 'finance', 'support', 'read_only']
const merchantRoles = ['owner', 'finance', 'accountant', 'developer']

/** Every role name, of the operator's people and of merchants' people. */
export const roleNames = [...new Set([...operatorRoles, ...merchantRoles])]

/**
 * Reads the settings of the provider.
 * @param issuer null if it is not set or not valid
 * @param text the value of a setting
 * @param errors gets what is wrong, as sentences that begin with the name of the setting
 */
export function readOidcSettings(
  issuer: string | null,
  text: (
    name: `OIDC_${'ISSUER' | 'CLIENT_ID' | 'CLIENT_SECRET' | 'SCOPES' | 'ROLES_CLAIM' | 'ROLES' | 'NAME' | 'ONLY' | 'SECOND_FACTOR' | 'ACR_VALUES'}`,
  ) => string | undefined,
  errors: string[],
): OidcSettings | null {
  const isOnly = text('OIDC_ONLY') === 'true'
  if (issuer === null) {
    if (isOnly) errors.push('OIDC_ONLY needs OIDC_ISSUER: otherwise nobody could sign in')
    return null
  }
  const required = (name: 'OIDC_CLIENT_ID' | 'OIDC_CLIENT_SECRET' | 'OIDC_ROLES_CLAIM' | 'OIDC_ROLES') => {
    const value = text(name)
    if (value === undefined) errors.push(`${name} must be set together with OIDC_ISSUER`)
    return value ?? ''
  }
  const scopes = text('OIDC_SCOPES') ?? 'openid email profile'
  if (!scopes.split(' ').includes('openid')) errors.push('OIDC_SCOPES must include openid')
  return {
    // Unchanged, because a slash at its end is part of the issuer's identifier.
    issuer: text('OIDC_ISSUER') ?? issuer,
    clientId: required('OIDC_CLIENT_ID'),
    clientSecret: required('OIDC_CLIENT_SECRET'),
    scopes,
    rolesClaim: required('OIDC_ROLES_CLAIM'),
    rules: readRules('OIDC_ROLES', required('OIDC_ROLES'), errors),
    name: text('OIDC_NAME') ?? new URL(issuer).host,
    isOnly,
    isSecondFactorTrusted: text('OIDC_SECOND_FACTOR') === 'trusted',
    acrValues: (text('OIDC_ACR_VALUES') ?? '').split(' ').filter((value) => value !== ''),
  }
}

/** `value=role` and `value=role@client`, separated by commas. Commas alone are an error: nobody could sign in. */
function readRules(name: string, text: string, errors: string[]): RoleRule[] {
  const rules = text.split(',').flatMap((part) => (part.trim() === '' ? [] : [readRule(part.trim())]))
  const valid = rules.filter((rule) => rule !== null)
  if (text !== '' && (rules.length === 0 || valid.length < rules.length))
    errors.push(
      `${name} must be pairs such as gateway-admins=admin,shop-owners=owner@<client id>, separated by commas; roles are ${operatorRoles.join(', ')} of the operator, and ${merchantRoles.join(', ')} of a merchant`,
    )
  return valid
}

function readRule(text: string): RoleRule | null {
  const [, value = '', role = '', clientId = null] = /^(.+)=(\w+)(?:@([\w.:-]{1,64}))?$/.exec(text) ?? []
  return (clientId === null ? operatorRoles : merchantRoles).includes(role)
    ? { value: value.trim(), role, clientId }
    : null
}
