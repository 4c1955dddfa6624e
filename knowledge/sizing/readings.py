def described(source): raise NotImplementedError
