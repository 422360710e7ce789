import { Center, Loader, MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useMemo, useState } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import { ApiError, keepCsrfToken, onSignOut, request } from './api.ts'
import { ErrorBoundary } from './components/error-boundary.tsx'
import { ErrorNotice } from './components/error-notice.tsx'
import { forgetPersonalFilters } from './filters.ts'
import { forgetRecents } from './recent.ts'
import { NotFound } from './screens/not-found.tsx'
import { screens } from './screens.ts'
import { UserContext, useUser } from './session.tsx'
import { Shell } from './shell.tsx'
import { findLanguage, type Language, LanguageContext, rememberLanguage } from './text.ts'
import { theme, variables } from './theme.ts'
import type { Session } from './types.ts'

const SignIn = lazy(async () => await import('./screens/sign-in/sign-in.tsx'))
const Account = lazy(async () => await import('./screens/account/account.tsx'))
const Welcome = lazy(async () => await import('./screens/welcome/welcome.tsx'))

const queries = new QueryClient({
  defaultOptions: {
    // A refused request is not retried: it would be refused again.
    queries: { retry: (count, error) => !(error instanceof ApiError) && count < 1, staleTime: 5_000 },
  },
})

export function App() {
  const [language, setLanguage] = useState(findLanguage)
  useEffect(() => {
    document.documentElement.lang = language === 'pt' ? 'pt-BR' : 'en'
  }, [language])
  const chosen = useMemo(
    () => ({
      language,
      choose: (next: Language) => {
        rememberLanguage(next)
        setLanguage(next)
      },
    }),
    [language],
  )
  return (
    <LanguageContext value={chosen}>
      <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
        <QueryClientProvider client={queries}>
          <Router base="/dashboard">
            <ErrorBoundary>
              <Suspense fallback={<LoadingScreen />}>
                <Switch>
                  <Route path="/welcome/:token">
                    {({ token }) => <Welcome token={token} onSignedIn={replaceSession} />}
                  </Route>
                  <Route>
                    <SignedIn />
                  </Route>
                </Switch>
              </Suspense>
            </ErrorBoundary>
          </Router>
        </QueryClientProvider>
      </MantineProvider>
    </LanguageContext>
  )
}

const sessionKey = ['session']

function replaceSession(session: Session | null): void {
  // The next user must not see data of the previous one.
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] })
  forgetPersonalFilters()
  if (session === null) forgetRecents()
  queries.setQueryData(sessionKey, session)
}

function SignedIn() {
  const [location] = useLocation()
  const session = useQuery({
    queryKey: sessionKey,
    queryFn: async () => {
      try {
        return await request<Session>('GET', '/session')
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null
        throw error
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
  const [hasEnded, setEnded] = useState(false)
  useEffect(
    () =>
      onSignOut(() => {
        // Only a user who was signed in sees the message that the session ended.
        if (queries.getQueryData(sessionKey)) setEnded(true)
        replaceSession(null)
      }),
    [],
  )
  if (session.isPending) return <LoadingScreen />
  if (session.isError) return <ErrorNotice error={session.error} onRetry={() => void session.refetch()} />
  if (session.data === null) {
    const enter = (next: Session) => {
      setEnded(false)
      replaceSession(next)
    }
    return <SignIn hasEnded={hasEnded} onSignedIn={enter} />
  }
  keepCsrfToken(session.data.csrfToken)
  return (
    <UserContext value={session.data.user}>
      <Shell onSignedOut={() => replaceSession(null)}>
        <ErrorBoundary resetKey={location}>
          <Suspense fallback={<LoadingScreen />}>
            <Screens />
          </Suspense>
        </ErrorBoundary>
      </Shell>
    </UserContext>
  )
}

function Screens() {
  const { permissions, merchant, needsSecondFactor } = useUser()
  if (needsSecondFactor) return <Account />
  const shown = screens.filter(
    ({ permission, isOperators }) =>
      (permission === null || permissions.includes(permission)) && !(isOperators && merchant !== null),
  )
  return (
    <Switch>
      {shown.flatMap(({ paths, Screen }) =>
        paths.map((path) => (
          <Route key={path} path={path}>
            <Screen />
          </Route>
        )),
      )}
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}

function LoadingScreen() {
  return (
    <Center h="60vh">
      <Loader type="dots" aria-label="…" />
    </Center>
  )
}
