import { Alert, Button, Divider, Loader, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { SignedOutPage } from '../../components/signed-out-page.tsx'
import { useText } from '../../text.ts'
import type { Session, SignInOptions } from '../../types.ts'
import { PasswordForm } from './password-form.tsx'
import { words } from './text.ts'

/** The query parameter with the reason of a failed sign-in: the service adds it when it redirects the browser back. */
const faultParameter = 'signIn'

export default function SignIn({
  hasEnded,
  onSignedIn,
}: {
  /** The session ended, and not by a sign-out in this tab. */
  hasEnded: boolean
  onSignedIn: (session: Session) => void
}) {
  const t = useText(words)
  const [query, setQuery] = useSearchParams()
  const options = useQuery({
    queryKey: ['sign-in'],
    queryFn: async () => await request<SignInOptions>('GET', '/sign-in'),
  })
  const fault = query.get(faultParameter)
  const enter = (session: Session) => {
    if (fault !== null)
      setQuery((before) => new URLSearchParams([...before].filter(([name]) => name !== faultParameter)), {
        replace: true,
      })
    onSignedIn(session)
  }
  return (
    <SignedOutPage title={t.title}>
      {fault === null && hasEnded && (
        <Alert color="yellow" role="status" mb="md">
          {t.ended}
        </Alert>
      )}
      {fault !== null && (
        <Alert color="red" role="alert" mb="md">
          {t.faults[fault] ?? t.faults.failed}
        </Alert>
      )}
      {options.isPending && <Loader type="dots" aria-label="…" />}
      {options.isError && <ErrorNotice error={options.error} onRetry={() => void options.refetch()} />}
      {options.data?.provider != null && (
        <Button
          component="a"
          href={withQuery('/dashboard/api/sign-in/provider', { returnTo: currentPage() })}
          variant={options.data.password ? 'default' : 'filled'}
          fullWidth
        >
          {t.provider(options.data.provider)}
        </Button>
      )}
      {options.data?.provider != null && options.data.password && <Divider my="lg" label={t.or} />}
      {options.data?.password && <PasswordForm onSignedIn={enter} />}
      {options.data?.password === false && (
        <Text size="xs" c="dimmed" mt="md">
          {t.providerHelp}
        </Text>
      )}
    </SignedOutPage>
  )
}

/** The page to open after the sign-in. */
function currentPage(): string {
  const { pathname, searchParams, search } = new URL(location.href)
  searchParams.delete(faultParameter)
  return search === '' || searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`
}
